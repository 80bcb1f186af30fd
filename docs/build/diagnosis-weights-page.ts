/** docs/diagnosis-weights.md: what each sign says of each cause. */
import { causeTexts, namedCauses } from '../../src/diagnosis/rules/cause.ts';
import { type Sign, signNames, signStates, weightOf } from '../../src/diagnosis/rules/weights.ts';
import { code, generatedPage, type Page, table } from './page.ts';

export function diagnosisWeightsPage(): Page {
  const rows = signNames.flatMap((name) =>
    signStates[name].map((state) => {
      const sign = { name, state } as Pick<Sign, 'name' | 'state'>;
      const told = namedCauses
        .map((cause) => ({ cause, weight: weightOf(sign, cause) }))
        .filter(({ weight }) => weight !== 0)
        .toSorted((a, b) => b.weight - a.weight)
        .map(({ cause, weight }) => `${code(cause)} ${weight > 0 ? '+' : ''}${weight}`);
      return [code(name), code(state), told.length === 0 ? 'nothing' : told.join(', ')];
    }),
  );
  const causes = namedCauses.map((cause) => [code(cause), causeTexts[cause].title, causeTexts[cause].action]);
  return generatedPage(
    'docs/diagnosis-weights.md',
    ['src/diagnosis/rules/weights.ts'],
    [
      '# What each sign says of each cause',
      'How these are put together is in [diagnosis.md](diagnosis.md).',
      table(['Cause', 'Means', 'What to do first'], causes),
      'Weights are in nats, relative to `unknown`: a sign of weight w is e^w times likelier under the cause than under causes that nobody thought of. What is left out is 0.',
      table(['Sign', 'State', 'Weights'], rows),
    ],
  );
}
