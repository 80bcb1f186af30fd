/** docs/explanation/diagnosis-weights.md: the weight of each sign for each cause. */
import { causeTexts, namedCauses } from '../../src/incidents/diagnosis/rules/cause.ts';
import { reaches } from '../../src/incidents/diagnosis/rules/effects.ts';
import { judgedEstimates, judgedWeightOf, priorOf, weightOf } from '../../src/incidents/diagnosis/rules/estimates.ts';
import { fittedEstimates } from '../../src/incidents/diagnosis/rules/fitted-weights.ts';
import { type SignState, signNames, signStates } from '../../src/incidents/diagnosis/rules/signs.ts';
import { code, generatedPage, type Page, table } from './page.ts';

export function diagnosisWeightsPage(): Page {
  const rows = signNames.flatMap((name) =>
    signStates[name].map((state) => {
      const sign: SignState = { name, state };
      const weights = namedCauses
        .map((cause) => ({
          cause,
          judged: judgedWeightOf(sign, cause),
          fitted: weightOf(sign, cause, fittedEstimates),
        }))
        .filter(({ judged }) => judged !== 0)
        .toSorted((a, b) => b.fitted - a.fitted)
        .map(({ cause, judged, fitted }) => `${code(cause)} ${signed(judged)} → ${signed(fitted)}`);
      return [code(name), code(state), weights.length === 0 ? 'nothing' : weights.join(', ')];
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
    const least = leastFailed === undefined ? '' : `, if at least ${100 * leastFailed} % of the queries failed`;
    return [code(cause), moves.map(code).join(', '), `${through.map(code).join(', ')}${least}`];
  });
  return generatedPage(
    'docs/explanation/diagnosis-weights.md',
    ['src/incidents/diagnosis/rules'],
    [
      '# Diagnosis weights',
      '[Diagnosis](diagnosis.md) explains how recalld combines the weights on this page.',
      table(['Cause', 'Means', 'What to do first', 'How to confirm it'], causes),
      '## What each cause can change',
      'recalld names a cause only if the cause can explain at least half of the change that triggered an alert. The *Through* column lists the parts of a changed golden score that the cause can explain, such as the loss from queries that failed (`failed`) or returned nothing (`empty`).',
      table(['Cause', 'Can affect', 'Through'], reach),
      '## Weights',
      `Weights are in nats, relative to ${code('unknown')}. Each row shows the *judged* weight, which an expert chose, and, after the arrow, the [fitted weight](diagnosis-accuracy.md#how-the-weights-were-estimated). A sign has weight 0 for every cause that its row does not list. recalld divides the score of a cause (its prior plus its weights) by the temperature, ${fittedEstimates.temperature}. Each firing alert that a cause cannot explain adds ${signed(fittedEstimates.unexplained)} to the cause's score (judged value: ${signed(judgedEstimates.unexplained)}).`,
      table(['Sign', 'State', 'Weights, judged → fitted'], rows),
      '## Priors',
      `The prior of a cause is ln P(cause) - ln P(${code('unknown')}), where P is the probability before any sign is considered.`,
      table(['Cause', 'Judged', 'Fitted'], priors),
    ],
  );
}

function signed(weight: number): string {
  return `${weight > 0 ? '+' : ''}${Number(weight.toFixed(2))}`;
}
