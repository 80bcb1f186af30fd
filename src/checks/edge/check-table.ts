/** Table of configured checks: verdict, explanation, and time of the last change. */
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
    ['Since (UTC)', ({ since }) => (since === null ? missing('unknown') : [time(since), ' ', quiet(age(since))])],
    [
      'Value',
      ({ value: last, kind, isTooOld }) =>
        last === null
          ? missing(isTooOld ? 'withheld' : 'none')
          : [value(last, 'score'), kind === 'density_drift' && note('of the alert level')],
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
      ? 'Not evaluated yet; checks are evaluated once a minute.'
      : `Not evaluated yet: no golden run of ${goldenSet} has ended.`;
  }
  if (isTooOld) {
    const last = goldenSet === null ? 'evaluation' : 'run';
    return `The last ${last} is too old to trust${explanation === null ? '.' : `: ${explanation}`}`;
  }
  return explanation ?? 'Not evaluated yet: the check was added after the latest run.';
}
