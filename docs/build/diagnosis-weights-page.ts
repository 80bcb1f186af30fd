/** docs/diagnosis-weights.md: what each sign says of each cause. */
import { causeTexts, namedCauses, reaches } from '../../src/diagnosis/rules/cause.ts';
import { type Sign, signNames, signStates } from '../../src/diagnosis/rules/signs.ts';
import { weightOf } from '../../src/diagnosis/rules/weights.ts';
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
  const causes = namedCauses.map((cause) => {
    const { title, action, shows } = causeTexts[cause];
    return [code(cause), title, action, shows];
  });
  const reach = namedCauses.map((cause) => {
    const { moves, through, leastFailed } = reaches[cause];
    const least = leastFailed === undefined ? '' : `, when ${100 * leastFailed} % of the queries failed`;
    return [code(cause), moves.map(code).join(', '), `${through.map(code).join(', ')}${least}`];
  });
  return generatedPage(
    'docs/diagnosis-weights.md',
    ['src/diagnosis/rules'],
    [
      '# What each sign says of each cause',
      'How these are put together is in [diagnosis.md](diagnosis.md).',
      table(['Cause', 'Means', 'What to do first', 'What shows that it is this one'], causes),
      '## What each cause can bring about',
      'A cause is offered only when it can bring about at least half of one thing that is in alarm. *Through*: the queries by which it moves a score of a golden run; those of no other cause count for it.',
      table(['Cause', 'Can move', 'Through'], reach),
      '## Weights',
      `Weights are in nats, relative to ${code('unknown')}: a sign of weight w is e^w times likelier under the cause than under causes that nobody thought of. What is left out is 0.`,
      table(['Sign', 'State', 'Weights'], rows),
    ],
  );
}
