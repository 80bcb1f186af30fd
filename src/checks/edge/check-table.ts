/** Table of configured checks: verdict, explanation, and time of the last change. */
import { formatValue, type Unit } from '../../core/format.ts';
import type { Severity } from '../../core/model.ts';
import { isThresholdMeasure, measureRow, thresholdPolicy } from '../../measures/rules/measure-table.ts';
import { checkHistory, pipelinePath } from '../../report/console/links.ts';
import type { TrendLevel } from '../../report/model/charts.ts';
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
        (check.verdict === 'no_data' || (check.verdict === 'warning' && check.severity === 'critical')) &&
          note(`${check.severity} check`),
      ],
    ],
    ['Since (UTC)', ({ since }) => (since === null ? missing('unknown') : [time(since), ' ', quiet(age(since))])],
    [
      'Value',
      (check) => {
        const { value: last, kind, threshold, isTooOld } = check;
        if (last === null) return missing(isTooOld ? 'withheld' : 'none');
        // Does not show the e-value, because it means nothing to most readers.
        if (kind === 'density_drift') return last >= threshold ? 'drift confirmed' : 'not confirmed';
        return value(last, unitOf(check));
      },
      'number',
    ],
    ['Threshold', (check) => check.kind !== 'density_drift' && value(check.threshold, unitOf(check)), 'number'],
    [
      'Evaluated',
      ({ evaluatedAt, isTooOld }) => (evaluatedAt === null ? missing('never') : age(evaluatedAt, isTooOld)),
      'number',
    ],
  ]);
}

export function unitOf({ kind, measure }: CheckState): Unit {
  if (kind === 'threshold') return measureRow(measure).scale;
  return kind === 'stale_labels' ? 'share' : kind === 'forbidden_results' ? 'count' : 'score';
}

/** The threshold of a check as a labeled line in a chart: `critical below 0.7`. */
export function levelOf(check: CheckState): TrendLevel {
  const { kind, measure, severity, threshold } = check;
  const worse = kind === 'floor' || !isThresholdMeasure(measure) ? 'below' : thresholdPolicy(measure).worse;
  return thresholdLevel(severity, worse, threshold, unitOf(check));
}

export function thresholdLevel(
  severity: Severity,
  worse: 'above' | 'below',
  threshold: number,
  unit: Unit,
): TrendLevel {
  return { value: threshold, text: `${severity} ${worse} ${formatValue(threshold, unit)}`, severity };
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
