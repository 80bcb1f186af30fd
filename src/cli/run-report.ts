/** A golden run as text for people. */
import type { BaselineJson, MetricJson, RunSummaryJson } from '../golden/schema/run-summary-document.ts';
import { formatTable } from './output.ts';

/** Scores at every cut-off with bounds at the largest, what became of the queries, and the verdict of each check. */
export function formatRunSummary(run: RunSummaryJson, firstFailure: string | null): string {
  const lines = [
    `${run.purpose === 'full' ? 'Golden run' : 'Sentinel'} ${run.run_id}: ${run.golden_set} version ${run.golden_set_version} on ${run.pipeline}, ${run.status}`,
    ...(run.cause === null ? [] : [run.cause]),
    ...(run.reason === null ? [] : [run.reason]),
    ...(run.provisional
      ? ['It is still running: its scores are provisional, of the queries answered so far.']
      : []),
    formatOutcomes(run),
    ...(firstFailure === null ? [] : [`First failure: ${firstFailure}`]),
  ];
  if (Object.keys(run.metrics).length > 0) lines.push('', formatScores(run.metrics));
  for (const [segment, metrics] of Object.entries(run.segments))
    lines.push('', segment, formatScores(metrics));
  lines.push(...formatLabels(run), ...formatAgainst('the baseline', run.baseline));
  lines.push(...formatAgainst('the last run before the store or the model changed,', run.deployment));
  if (run.checks.length > 0) {
    lines.push(
      '',
      ...run.checks.map((check) => `${check.verdict.padEnd(8)} ${check.name}: ${check.explanation}`),
    );
  }
  return lines.join('\n');
}

function formatOutcomes({ queries }: RunSummaryJson): string {
  const failed = queries.error + queries.timeout;
  const tail = failed + queries.empty > 0 ? '; those without an answer count 0 in every mean' : '';
  return `${queries.total} queries: ${queries.ok} ok, ${queries.empty} empty, ${queries.error} error, ${queries.timeout} timeout${tail}`;
}

function formatLabels({ labels, queries, golden_set: set }: RunSummaryJson): string[] {
  if (labels.stale === null || labels.stale === 0) return [];
  const dead = queries.stale === 0 ? '' : `; ${queries.stale} queries have none left`;
  return [
    '',
    `${labels.stale} of ${labels.probed} judged documents of ${set} are gone from the store${dead}.`,
  ];
}

function formatAgainst(what: string, compared: BaselineJson | null): string[] {
  if (compared === null) return [];
  const largest = Math.max(...Object.keys(compared.metrics).map((key) => Number(key.split('@')[1])));
  const rows = Object.entries(compared.metrics)
    .filter(([key]) => key.endsWith(`@${largest}`))
    .map(([key, metric]) => [
      key,
      metric.verdict,
      metric.difference.toFixed(4),
      `${metric.ci_low?.toFixed(4) ?? ''} to ${metric.ci_high?.toFixed(4) ?? ''}`,
      metric.p_randomization.toFixed(4),
      `${metric.wins}/${metric.losses}/${metric.ties}`,
    ]);
  const left = compared.excluded === 0 ? '' : `, ${compared.excluded} queries left out`;
  return [
    '',
    `Against ${what} ${compared.run_id}: ${compared.verdict} over ${compared.n} queries${left}`,
    formatTable(['metric', 'verdict', 'difference', '95 %', 'p', 'won/lost/tied'], rows, 2),
    ...compared.advice,
  ];
}

function formatScores(metrics: Readonly<Record<string, MetricJson>>): string {
  const byMeasure = new Map<string, Map<number, MetricJson>>();
  for (const [key, metric] of Object.entries(metrics)) {
    const [measure = key, k = '0'] = key.split('@');
    const row = byMeasure.get(measure) ?? new Map<number, MetricJson>();
    byMeasure.set(measure, row.set(Number(k), metric));
  }
  const cutoffs = [...new Set([...byMeasure.values()].flatMap((row) => [...row.keys()]))].toSorted(
    (a, b) => a - b,
  );
  const largest = cutoffs.at(-1) ?? 0;
  const rows = [...byMeasure].map(([measure, row]) => [
    measure,
    ...cutoffs.map((k) => row.get(k)?.mean.toFixed(4) ?? ''),
    formatBounds(row.get(largest)),
    `${row.get(largest)?.n ?? ''}`,
  ]);
  return formatTable(['measure', ...cutoffs.map((k) => `@${k}`), `95 % at ${largest}`, 'n'], rows, 1);
}

function formatBounds(metric: MetricJson | undefined): string {
  return metric === undefined ? '' : `${metric.ci_low.toFixed(4)} to ${metric.ci_high.toFixed(4)}`;
}
