/** Configured checks with the sentence of their verdict, and since when they stand at it. */
import { checkHistory, pipelinePath } from '../../report/console/links.ts';
import type { Table } from '../../report/model/content.ts';
import { age, link, missing, note, quiet, table, time, value, verdictBadge, why } from '../../report/model/show.ts';
import type { CheckState } from '../rules/check-state.ts';
import { isBlind } from '../rules/regression.ts';

export function checkTable(caption: string, checks: readonly CheckState[], withPipeline: boolean): Table {
  return table(caption, checks, [
    [
      'Check',
      (check) => [
        checkHistory(check.pipeline, check.name),
        withPipeline && [' ', quiet(link(check.pipeline, pipelinePath(check.pipeline)))],
        why(whyOf(check)),
      ],
    ],
    [
      'Verdict',
      (check) => [
        verdictBadge(check.verdict, isBlind(check)),
        check.verdict !== 'ok' && note(`${check.severity} check`),
      ],
    ],
    ['Since (UTC)', ({ since }) => (since === null ? missing('not noted') : [time(since), ' ', quiet(age(since))])],
    [
      'Value',
      ({ value: last, kind, isTooOld }) =>
        last === null
          ? missing(isTooOld ? 'withheld' : 'none')
          : [value(last, 'score'), kind === 'density_drift' && note('of the evidence it takes')],
      'number',
    ],
    ['Threshold', ({ threshold }) => value(threshold, 'score'), 'number'],
    [
      'Judged',
      ({ evaluatedAt, isTooOld }) => (evaluatedAt === null ? missing('never') : age(evaluatedAt, isTooOld)),
      'number',
    ],
  ]);
}

function whyOf({ explanation, isTooOld, evaluatedAt, goldenSet }: CheckState): string {
  if (evaluatedAt === null) {
    return goldenSet === null
      ? 'Nothing has judged it yet; checks are judged once a minute.'
      : `No golden run of ${goldenSet} has ended yet, so nothing has judged it.`;
  }
  if (isTooOld) {
    const last = goldenSet === null ? 'What' : 'The run that';
    return `${last} judged it last is too old to trust${explanation === null ? '.' : `; it said: ${explanation}`}`;
  }
  return explanation ?? 'The latest run did not judge it: it was configured after that run.';
}
