/** Golden runs, one or two side by side, as text for people. */

import { formatTable, sparkline, verdictText } from '../../../cli/output.ts';
import { plural } from '../../../core/format.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { type RunDifference, segmentOf } from '../../rules/compare-golden-runs.ts';
import { adviseOnSetSize } from '../../rules/compare-runs.ts';
import type { ChangedQuery } from '../../rules/listed-queries.ts';
import type { GoldenRun } from '../../rules/run.ts';
import { storedComparison } from '../../rules/verdict.ts';
import type { ComparedJson, MetricJson, RunSummaryJson } from '../../run-summary-schema.ts';
import type { RunsCompared } from '../../runs/stored-runs.ts';
import { metricsTable, signedScore } from './compare.ts';

const MAX_TEXT = 60;

/** A measure over the last runs of the set that completed, oldest first. */
interface Trend {
  readonly measure: string;
  readonly values: readonly (number | null)[];
}

/** The metrics at the largest cut-off, the segments that moved, and the queries that lost most. */
export function formatRunComparison(compared: RunsCompared, trend: Trend, mostQueries: number): string {
  const { baseline, candidate, differences } = compared;
  const all = segmentOf(differences);
  const excluded = differences[0]?.excluded ?? 0;
  const advice = adviseOnSetSize(all, storedComparison);
  const largest = Math.max(...differences.map(({ key }) => key.k));
  const shown = differences.filter(({ key }) => key.k === largest);
  const left = excluded === 0 ? '' : `, ${excluded} left out`;
  return [
    `baseline   ${describe(baseline)}`,
    `candidate  ${describe(candidate)}`,
    `trend      ${trendText(trend)}`,
    `Verdict on ${all.primary}: ${verdictText(all.verdict)}, over ${plural(all.n, 'query', 'queries')}${left}.`,
    '',
    metricsTable(shown.filter(({ segment }) => segment === ALL_SEGMENT)),
    ...segmentLines(shown),
    ...queryLines(compared, mostQueries),
    ...(advice.length === 0 ? [] : ['', ...advice]),
  ].join('\n');
}

function trendText({ measure, values }: Trend): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `no run has ${measure}`;
  const [least, largest] = [Math.min(...known), Math.max(...known)];
  const runs = values.length === 1 ? 'the last run' : `the last ${values.length} runs`;
  return `${sparkline(values)} ${measure} of ${runs}, ${least.toFixed(4)} to ${largest.toFixed(4)}`;
}

function describe({ id, goldenSet, goldenSetVersion, pipeline, startedAt }: GoldenRun): string {
  return `${id}: ${goldenSet} version ${goldenSetVersion} on ${pipeline}, ${startedAt.toISOString()}`;
}

/** nDCG of the segments that moved, worst first. */
function segmentLines(shown: readonly RunDifference[]): string[] {
  const moved = shown
    .filter(({ segment, key, difference }) => segment !== ALL_SEGMENT && key.measure === 'ndcg' && difference !== 0)
    .toSorted((a, b) => a.difference - b.difference);
  if (moved.length === 0) return [];
  const rows = moved.map((one) => [
    one.segment,
    `${one.n}`,
    one.baseline.toFixed(4),
    one.candidate.toFixed(4),
    signedScore(one.difference),
    one.verdict,
  ]);
  const head = ['segment', 'n', 'ndcg before', 'after', 'difference', 'verdict'];
  return ['', formatTable(head, rows, 1)];
}

function queryLines({ queries, measure }: RunsCompared, most: number): string[] {
  if (queries.length === 0) return ['', 'No query changed.'];
  const better = queries.filter(({ difference }) => difference > 0).length;
  const rows = queries.slice(0, most).map(queryRow);
  return [
    '',
    `${queries.length - better} queries lost and ${better} won in ${measure}; most regressed first:`,
    formatTable(['query', 'text', 'before', 'after', 'difference'], rows, 2),
  ];
}

function queryRow({ queryId, text, baseline, candidate, difference, isNewlyEmpty }: ChangedQuery): string[] {
  const line = text.replaceAll(/\s+/g, ' ');
  const shown = line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1)}…` : line;
  const empty = isNewlyEmpty ? ' (now empty)' : '';
  return [queryId, `${shown}${empty}`, baseline.toFixed(4), candidate.toFixed(4), signedScore(difference)];
}

/** Scores at every cut-off with bounds at the largest, what became of the queries, and the verdict of each check. */
export function formatRunSummary(run: RunSummaryJson): string {
  const lines = [
    `${run.purpose === 'full' ? 'Golden run' : 'Sentinel'} ${run.run_id}: ${run.golden_set} version ${run.golden_set_version} on ${run.pipeline}, ${run.status}`,
    ...(run.cause === null ? [] : [run.cause]),
    ...(run.reason === null ? [] : [run.reason]),
    ...(run.provisional ? ['It is still running: its scores are provisional, of the queries answered so far.'] : []),
    formatOutcomes(run),
    ...(run.answers_gone_at === null
      ? []
      : [`Its answers were deleted on ${run.answers_gone_at.slice(0, 10)} (keep_answers); its scores are kept.`]),
    ...run.doubts,
    ...(run.failure === null ? [] : [`First error: ${run.failure.explanation}`]),
  ];
  if (Object.keys(run.metrics).length > 0) lines.push('', formatScores(run.metrics));
  for (const [segment, metrics] of Object.entries(run.segments)) lines.push('', segment, formatScores(metrics));
  lines.push(...formatLabels(run), ...formatForbidden(run), ...formatNoAnswer(run), ...formatStages(run));
  lines.push(...formatAgainst('the baseline', run.baseline));
  lines.push(...formatAgainst('the last run before the store or the model changed,', run.deployment));
  if (run.checks.length > 0) {
    lines.push(
      '',
      ...run.checks.map(
        (check) => `${(check.blind ? 'blind' : check.verdict).padEnd(8)} ${check.name}: ${check.explanation}`,
      ),
    );
  }
  return lines.join('\n');
}

function formatOutcomes({ queries, no_answer: none }: RunSummaryJson): string {
  const failed = queries.error + queries.timeout;
  const scored = failed + queries.empty > (none?.n ?? 0);
  const tail = scored ? '; those without an answer count 0 in every mean' : '';
  return `${plural(queries.total, 'query', 'queries')}: ${queries.ok} ok, ${queries.empty} empty, ${queries.error} error, ${queries.timeout} timeout${tail}`;
}

function formatLabels({ labels, queries, golden_set: set }: RunSummaryJson): string[] {
  const { probed, stale, lost } = labels;
  const gone: string[] = [];
  if (lost !== null && lost > 0) {
    gone.push(
      `${lost} of ${probed} judged documents of ${set} are lost: nothing in the store took their place. They count 0.`,
    );
  }
  if (stale !== null && stale > 0) {
    const dead = queries.stale === 0 ? '' : `; ${queries.stale} queries have none left`;
    gone.push(
      `${stale} of ${probed} judged documents of ${set} are superseded${dead}: \`recalld golden check\` renews the judgments.`,
    );
  }
  return gone.length === 0 ? [] : ['', ...gone];
}

const MAX_FORBIDDEN = 20;

function formatForbidden({ forbidden }: RunSummaryJson): string[] {
  if (forbidden.length === 0) return [];
  const rows = forbidden.slice(0, MAX_FORBIDDEN).map(({ query, document, rank }) => [query, document, `${rank}`]);
  const rest = forbidden.length - rows.length;
  return [
    '',
    `Forbidden documents that came back, asked twice: ${forbidden.length}.`,
    formatTable(['query', 'document', 'rank'], rows, 2),
    ...(rest === 0 ? [] : [`and ${rest} more; --json has them all`]),
  ];
}

function formatStages({ stages }: RunSummaryJson): string[] {
  if (stages === null) return [];
  const { n, failed, untold, k, steps } = stages;
  const rows = steps.map(({ name, recall, lost, moved, latency_p95_ms: latency }) => [
    name,
    withBounds(recall),
    withBounds(lost),
    moved === null ? '' : `${moved.in} in, ${moved.out} out`,
    latency === null ? '' : `${Math.round(latency)} ms`,
  ]);
  const left = untold === 0 ? '' : `, ${untold} without a word of a stage left out`;
  return [
    '',
    `Relevant documents by stage, over ${n} questions (${failed} failed${left}):`,
    formatTable(['stage', 'holds', 'loses', `moved at ${k}`, 'p95'], rows, 1),
  ];
}

const withBounds = ({ mean, ci_low: low, ci_high: high }: MetricJson): string =>
  `${mean.toFixed(4)} (${low.toFixed(4)} to ${high?.toFixed(4) ?? ''})`;

const MAX_FALSE_ANSWERS = 10;

function formatNoAnswer({ no_answer: found }: RunSummaryJson): string[] {
  if (found === null) return [];
  const { false_answer_ratio: ratio, ci_low: low, ci_high: high, n, answered, failed, worst } = found;
  const share = `${ratio.toFixed(4)} (95 % ${low.toFixed(4)} to ${high.toFixed(4)})`;
  const line = `${answered} of ${n} questions without an answer were answered, ${failed} failed: false_answer_ratio ${share}.`;
  const rows = worst
    .slice(0, MAX_FALSE_ANSWERS)
    .map(({ query, documents, score }) => [query, `${documents}`, score?.toFixed(4) ?? '']);
  return ['', line, ...(rows.length === 0 ? [] : [formatTable(['query', 'documents', 'highest score'], rows, 1)])];
}

function formatAgainst(what: string, compared: ComparedJson | null): string[] {
  if (compared === null) return [];
  const largest = Math.max(...Object.keys(compared.metrics).map((key) => Number(key.split('@')[1])));
  const rows = Object.entries(compared.metrics)
    .filter(([key]) => key.endsWith(`@${largest}`))
    .map(([key, metric]) => [
      key,
      metric.verdict,
      metric.difference.toFixed(4),
      `${metric.ci_low?.toFixed(4) ?? ''} to ${metric.ci_high?.toFixed(4) ?? ''}`,
      (metric.p ?? metric.p_randomization).toFixed(4),
      `${metric.wins}/${metric.losses}/${metric.ties}`,
    ]);
  const left = compared.excluded === 0 ? '' : `, ${plural(compared.excluded, 'query', 'queries')} left out`;
  return [
    '',
    `Against ${what} ${compared.run_id}: ${compared.verdict} over ${plural(compared.n, 'query', 'queries')}${left}`,
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
  const cutoffs = [...new Set([...byMeasure.values()].flatMap((row) => [...row.keys()]))].toSorted((a, b) => a - b);
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
  return metric === undefined ? '' : `${metric.ci_low.toFixed(4)} to ${metric.ci_high?.toFixed(4) ?? ''}`;
}
