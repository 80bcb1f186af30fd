/** Estimates measures of all live queries, such as failures, zero results and clicks, from the samples in a window. */

import { ALL_SEGMENT, type QueryOutcome } from '../../core/model.ts';
import { groupBySegment } from '../../golden/rules/golden-set.ts';
import {
  type ClickedQuery,
  type ClickRateOutcome,
  clickedQueryRate,
  clickedReciprocalRank,
  clickThroughRate,
  type InsufficientFeedback,
  queryRate,
} from './feedback/click-rates.ts';
import {
  type BaselineCtr,
  clicksOverExpectedClicks,
  DEFAULT_CLICK_CUTOFF,
} from './feedback/clicks-over-expected-clicks.ts';
import {
  type ContextQuery,
  contextCharacters,
  MIN_TIMED,
  percentile95,
  repeatedContext,
  resultsPerAnswer,
  type StagedQuery,
} from './live-stages.ts';
import { chanceClusters, horvitzThompsonTotal, MIN_CLUSTERS } from './sampling/estimate.ts';

/** A sampled live query with the data that live measures need. */
export interface SampledQuery extends ClickedQuery, ContextQuery, StagedQuery {
  /** Milliseconds since 1970. */
  readonly occurredAtMs: number;
  readonly outcome: QueryOutcome;
  /** Latency in milliseconds; null if the service does not report it. */
  readonly latencyMs: number | null;
  /** Only configured segment keys. */
  readonly tags: Readonly<Record<string, string>>;
}

const trafficMeasures = [
  'queries',
  'zero_results_ratio',
  'error_ratio',
  'latency_p95_seconds',
  'results_per_answer',
  'context_characters',
  'context_repeated_ratio',
] as const;

/** Measures that use only queries whose clicks have all arrived. */
export const clickMeasures = [
  'click_through_ratio',
  'clicked_query_ratio',
  'clicked_reciprocal_rank',
  'clicks_over_expected_ratio',
] as const;

export const liveMeasures = [...trafficMeasures, ...clickMeasures] as const;

export type LiveMeasure = (typeof liveMeasures)[number];

export interface WindowTraits {
  /** True if every live query in the window was sampled with certainty (see `SampledWindow`). */
  readonly isComplete: boolean;
  /** All clicks on queries before this time, in milliseconds since 1970, have arrived (see `clicksCompleteUntil`). */
  readonly clicksCompleteUntilMs: number;
  readonly baselineCtr: BaselineCtr | null;
  /** True if the window has clicks, or if there is a baseline; otherwise, clicks are not measured. */
  readonly hasClicks: boolean;
}

export type LiveMeasureOutcome = { readonly measure: LiveMeasure } & (
  | ReturnType<typeof valueWithin>
  | { readonly kind: 'no_data'; readonly reason: string }
);

/** Returns the value of a measurement, with its 95 % bounds. */
export function valueWithin(
  { value, low, high, n }: { value: number; low: number; high: number; n: number },
  ciMethod: string,
) {
  return { kind: 'value' as const, value, ciLow: low, ciHigh: high, ciMethod, n };
}

/** Returns the value of a measurement that has no bounds. */
export function exactValue(value: number, n: number) {
  return { kind: 'value' as const, value, ciLow: null, ciHigh: null, ciMethod: null, n };
}

/**
 * Adjusts a measure of all traffic to the number of live queries that were counted on arrival. The volume becomes the
 * exact count instead of an estimate, and a window without samples is distinguished from a window without queries.
 *
 * @param arrived number of live queries counted in the window; 0 if there are no counts
 */
export function withArrivals(outcome: LiveMeasureOutcome, arrived: number): LiveMeasureOutcome {
  if (arrived === 0) return outcome;
  const { measure } = outcome;
  if (measure === 'queries')
    return { measure, ...valueWithin({ value: arrived, low: arrived, high: arrived, n: arrived }, 'counted') };
  return outcome.kind === 'no_data' && outcome.reason === 'no_queries'
    ? { ...outcome, reason: 'none_sampled' }
    : outcome;
}

/** Returns all queries, and the queries of each segment. Segments beyond the maximum number are merged into `other`. */
export function liveSegments<Query extends { readonly tags: SampledQuery['tags'] }>(
  queries: readonly Query[],
  keys: readonly string[],
  max: number,
): readonly { readonly name: string; readonly queries: readonly Query[] }[] {
  const { segments } = groupBySegment(queries, keys, max);
  return [
    { name: ALL_SEGMENT, queries },
    ...segments.map(({ name, members }) => ({
      name,
      queries: members.flatMap((index) => queries[index] ?? []),
    })),
  ];
}

/**
 * Yields every live measure of one segment in the order of `liveMeasures`. Measures are computed lazily, so that the
 * caller can yield to other work between measures: a measure of 10,000 queries takes milliseconds.
 *
 * - `queries`: number of queries, sampled or not (Horvitz-Thompson).
 * - `zero_results_ratio`, `error_ratio`: queries without results, and queries that failed or timed out, each as a share
 *   of all queries. Weights are calibrated to the counted arrivals. The bounds reflect the variation between sessions
 *   even if every query was sampled.
 * - `latency_p95_seconds`: 95th percentile over queries that report their latency, including failed ones.
 * - `results_per_answer`: mean number of documents, over queries with results.
 * - `context_characters`, `context_repeated_ratio`: mean length of the retrieved texts, and mean share of their
 *   five-word sequences that an earlier text already contains, over queries whose documents all have texts.
 * - `click_through_ratio`: share of the documents shown at ranks 1 to 10 that were clicked.
 * - `clicked_query_ratio`: share of queries with a click.
 * - `clicked_reciprocal_rank`: mean reciprocal rank of the best clicked document, over queries with a click.
 * - `clicks_over_expected_ratio`: clicks divided by the clicks expected at the same ranks in the baseline (COEC).
 *
 * The bounds are those of a 95 % confidence interval. Queries within a session may depend on each other in any way.
 *
 * @throws RangeError for a probability that is outside (0, 1], or so small that weights overflow
 */
export function* measureSegment(
  queries: readonly SampledQuery[],
  window: WindowTraits,
): Generator<LiveMeasureOutcome, void, undefined> {
  const n = queries.length;
  if (n === 0) {
    for (const measure of liveMeasures) yield { kind: 'no_data', measure, reason: 'no_queries' };
    return;
  }
  const total = horvitzThompsonTotal(
    queries.map(({ cluster, probability }) => ({ cluster, probability, value: 1 })),
    window,
  );
  if (total.kind === 'estimate') yield { measure: 'queries', ...valueWithin({ ...total, n }, 'horvitz_thompson') };
  else yield { kind: 'no_data', measure: 'queries', reason: 'too_few_sessions' };
  yield shareOutcome('zero_results_ratio', queries, window, ({ outcome }) => outcome === 'empty');
  yield shareOutcome('error_ratio', queries, window, ({ outcome }) => outcome === 'error' || outcome === 'timeout');
  yield measureLatency(queries);
  yield rateOutcome('results_per_answer', resultsPerAnswer(queries), 'sessions_t');
  yield* measureContext(queries);
  const complete = queries.filter(({ occurredAtMs }) => occurredAtMs < window.clicksCompleteUntilMs);
  yield* measureClicks(complete, window);
}

function measureLatency(queries: readonly SampledQuery[]): LiveMeasureOutcome {
  const measure = 'latency_p95_seconds';
  const timed = queries.flatMap(({ latencyMs, ...query }) =>
    latencyMs === null ? [] : [{ ...query, value: latencyMs / 1000 }],
  );
  if (timed.length === 0) return { kind: 'no_data', measure, reason: 'no_latencies' };
  const p95 = timed.length < MIN_TIMED ? null : percentile95(timed);
  if (p95 === null) return { kind: 'no_data', measure, reason: 'too_few_sessions' };
  return { kind: 'value', measure, ...p95, ciMethod: 'sessions_woodruff', n: timed.length };
}

function* measureContext(queries: readonly SampledQuery[]): Generator<LiveMeasureOutcome, void, undefined> {
  if (queries.every(({ context }) => context === null)) {
    for (const measure of ['context_characters', 'context_repeated_ratio'] as const)
      yield { kind: 'no_data', measure, reason: 'no_texts' };
    return;
  }
  yield rateOutcome('context_characters', contextCharacters(queries), 'sessions_t');
  yield rateOutcome('context_repeated_ratio', repeatedContext(queries));
}

function* measureClicks(
  queries: readonly SampledQuery[],
  { baselineCtr, hasClicks }: WindowTraits,
): Generator<LiveMeasureOutcome, void, undefined> {
  if (!hasClicks || queries.length === 0) {
    const reason = queries.length === 0 ? 'no_queries' : 'no_clicks';
    for (const measure of clickMeasures) yield { kind: 'no_data', measure, reason };
    return;
  }
  yield rateOutcome('click_through_ratio', clickThroughRate(queries, DEFAULT_CLICK_CUTOFF));
  yield rateOutcome('clicked_query_ratio', clickedQueryRate(queries));
  yield rateOutcome('clicked_reciprocal_rank', clickedReciprocalRank(queries));
  yield expectedMeasure(queries, baselineCtr);
}

function expectedMeasure(queries: readonly SampledQuery[], baseline: BaselineCtr | null): LiveMeasureOutcome {
  const measure = 'clicks_over_expected_ratio';
  if (baseline === null) return { kind: 'no_data', measure, reason: 'no_baseline' };
  const outcome = clicksOverExpectedClicks(queries, baseline);
  return outcome.kind === 'coec'
    ? { measure, ...valueWithin(outcome, 'gamma') }
    : insufficientOutcome(measure, outcome);
}

function shareOutcome(
  measure: LiveMeasure,
  queries: readonly SampledQuery[],
  { isComplete }: WindowTraits,
  holds: (query: SampledQuery) => boolean,
): LiveMeasureOutcome {
  // The number of queries that no sampling rule selected can be estimated only from randomly sampled queries.
  if (!isComplete && chanceClusters(queries) < MIN_CLUSTERS)
    return { kind: 'no_data', measure, reason: 'too_few_sessions' };
  return rateOutcome(measure, queryRate(queries, holds));
}

function rateOutcome(
  measure: LiveMeasure,
  outcome: ClickRateOutcome,
  ciMethod = 'sessions_wilson',
): LiveMeasureOutcome {
  return outcome.kind === 'rate'
    ? { measure, ...valueWithin(outcome, ciMethod) }
    : insufficientOutcome(measure, outcome);
}

function insufficientOutcome(measure: LiveMeasure, { of }: InsufficientFeedback): LiveMeasureOutcome {
  return { kind: 'no_data', measure, reason: of === 'clicks' ? 'too_few_clicks' : 'too_few_sessions' };
}
