/** A golden run as text for people. */
import type { MetricJson, RunSummaryJson } from '../contracts/run-summary.ts';
import { formatTable } from './output.ts';

/** Scores at every cut-off with bounds at the largest, what became of the queries, and the verdict of each check. */
export function formatRunSummary(run: RunSummaryJson, firstFailure: string | null): string {
  const lines = [
    `Golden run ${run.run_id}: ${run.golden_set} version ${run.golden_set_version} on ${run.pipeline}, ${run.status}`,
    ...(run.reason === null ? [] : [run.reason]),
    formatOutcomes(run),
    ...(firstFailure === null ? [] : [`First failure: ${firstFailure}`]),
  ];
  if (Object.keys(run.metrics).length > 0) lines.push('', formatScores(run.metrics));
  for (const [segment, metrics] of Object.entries(run.segments))
    lines.push('', segment, formatScores(metrics));
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
