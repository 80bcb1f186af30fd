/** docs/explanation/diagnosis-weights.md: what each sign says of each cause. */
import { causeTexts, namedCauses } from '../../src/incidents/diagnosis/rules/cause.ts';
import { reaches } from '../../src/incidents/diagnosis/rules/effects.ts';
import { judgedEstimates, judgedWeightOf, priorOf, weightOf } from '../../src/incidents/diagnosis/rules/estimates.ts';
import { fittedEstimates } from '../../src/incidents/diagnosis/rules/fitted-weights.ts';
import { type Sign, signNames, signStates } from '../../src/incidents/diagnosis/rules/signs.ts';
import { code, generatedPage, type Page, table } from './page.ts';

export function diagnosisWeightsPage(): Page {
  const rows = signNames.flatMap((name) =>
    signStates[name].map((state) => {
      const sign = { name, state } as Pick<Sign, 'name' | 'state'>;
      const told = namedCauses
        .map((cause) => ({
          cause,
          judged: judgedWeightOf(sign, cause),
          fitted: weightOf(sign, cause, fittedEstimates),
        }))
        .filter(({ judged }) => judged !== 0)
        .toSorted((a, b) => b.fitted - a.fitted)
        .map(({ cause, judged, fitted }) => `${code(cause)} ${signed(judged)} → ${signed(fitted)}`);
      return [code(name), code(state), told.length === 0 ? 'nothing' : told.join(', ')];
    }),
  );
  const causes = namedCauses.map((cause) => {
    const { title, action, shows } = causeTexts[cause];
    return [code(cause), title, action, shows];
  });
  const priors = namedCauses.map((cause) => [
    code(cause),
    signed(priorOf(cause, judgedEstimates)),
    signed(priorOf(cause, fittedEstimates)),
  ]);
  const reach = namedCauses.map((cause) => {
    const { moves, through, leastFailed } = reaches[cause];
    const least = leastFailed === undefined ? '' : `, when ${100 * leastFailed} % of the queries failed`;
    return [code(cause), moves.map(code).join(', '), `${through.map(code).join(', ')}${least}`];
  });
  return generatedPage(
    'docs/explanation/diagnosis-weights.md',
    ['src/incidents/diagnosis/rules'],
    [
      '# What each sign says of each cause',
      'How these are put together is in [diagnosis.md](diagnosis.md).',
      table(['Cause', 'Means', 'What to do first', 'What shows that it is this one'], causes),
      '## What each cause can bring about',
      'A cause is offered only when it can bring about at least half of one thing that is in alarm. *Through*: the queries by which it moves a score of a golden run; those of no other cause count for it.',
      table(['Cause', 'Can move', 'Through'], reach),
      '## Weights',
      `Weights are in nats, relative to ${code('unknown')}. Each is shown as it was judged and, after the arrow, as it was fitted; how is in [diagnosis.md](diagnosis.md#how-the-weights-were-estimated). What is left out is 0. The sum is divided by the temperature, ${fittedEstimates.temperature}. Each thing that fires and that a cause cannot bring about adds ${signed(fittedEstimates.unexplained)} to it (judged: ${signed(judgedEstimates.unexplained)}).`,
      table(['Sign', 'State', 'Weights, judged → fitted'], rows),
      '## Priors',
      `ln P(cause) - ln P(${code('unknown')}) before any sign.`,
      table(['Cause', 'Judged', 'Fitted'], priors),
    ],
  );
}

function signed(weight: number): string {
  return `${weight > 0 ? '+' : ''}${Number(weight.toFixed(2))}`;
}
