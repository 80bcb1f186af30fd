/** What a window of sampled live queries says of all of them: how many fail, how many find nothing, what is clicked. */

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
  repeatedContext,
  resultsPerAnswer,
  type StagedQuery,
} from './live-stages.ts';
import { chanceClusters, type EstimateOutcome, horvitzThompsonTotal, MIN_CLUSTERS } from './sampling/estimate.ts';

/** A sampled live query as these measures need it. */
export interface SampledQuery extends ClickedQuery, ContextQuery, StagedQuery {
  /** Milliseconds since 1970. */
  readonly occurredAtMs: number;
  readonly outcome: QueryOutcome;
  /** Of the configured keys alone. */
  readonly tags: Readonly<Record<string, string>>;
}

const trafficMeasures = [
  'queries',
  'zero_results_ratio',
  'error_ratio',
  'results_per_answer',
  'context_characters',
  'context_repeated_ratio',
] as const;

/** Measures of the queries that are settled: those that have had time enough to be clicked. */
export const clickMeasures = [
  'click_through_ratio',
  'clicked_query_ratio',
  'clicked_reciprocal_rank',
  'clicks_over_expected_ratio',
] as const;

export const liveMeasures = [...trafficMeasures, ...clickMeasures] as const;

export type LiveMeasure = (typeof liveMeasures)[number];

export interface WindowTraits {
  /** Whether every live query of the window was kept for certain, see `SampledWindow`. */
  readonly isComplete: boolean;
  /** Queries before this time have all their clicks, see `clicksCompleteUntil`. Milliseconds since 1970. */
  readonly clicksCompleteUntilMs: number;
  /** What clicks are expected; null while there is no baseline. */
  readonly reference: BaselineCtr | null;
  /** Whether clicks are sent at all: some are in the window, or there is a reference. Without, none are measured. */
  readonly hasClicks: boolean;
}

type LiveGapReason =
  | 'no_queries'
  | 'none_sampled'
  | 'no_clicks'
  | 'no_texts'
  | 'no_baseline'
  | 'too_few_sessions'
  | 'too_few_clicks';

export type LiveMeasureOutcome =
  | {
      readonly kind: 'value';
      readonly measure: LiveMeasure;
      readonly value: number;
      readonly ciLow: number;
      readonly ciHigh: number;
      readonly ciMethod: string;
      /** Sampled queries behind the value. */
      readonly n: number;
    }
  | {
      readonly kind: 'no_data';
      readonly measure: LiveMeasure;
      readonly reason: LiveGapReason;
    };

/**
 * A measure of all traffic beside what was counted on arrival, so that the volume is that of the counters and not an
 * estimate of it, and a window of which no query was sampled is not told to have had none.
 *
 * @param arrived live queries that were counted in the window; 0 where nothing was counted
 */
export function withArrivals(outcome: LiveMeasureOutcome, arrived: number): LiveMeasureOutcome {
  if (arrived === 0) return outcome;
  const { measure } = outcome;
  if (measure === 'queries')
    return { kind: 'value', measure, value: arrived, ciLow: arrived, ciHigh: arrived, ciMethod: 'counted', n: arrived };
  return outcome.kind === 'no_data' && outcome.reason === 'no_queries'
    ? { ...outcome, reason: 'none_sampled' }
    : outcome;
}

/** The queries of all, and of each bounded segment: the most sampled by name, the rest as `other`. */
export function liveSegments(
  queries: readonly SampledQuery[],
  keys: readonly string[],
  max: number,
): readonly { readonly name: string; readonly queries: readonly SampledQuery[] }[] {
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
 * Every live measure of one segment, in the order of `liveMeasures`, each computed when it is asked for, so that a caller
 * can let others run in between: each takes some milliseconds for 10,000 queries.
 *
 * - `queries`: how many there were, sampled or not (Horvitz and Thompson)
 * - `zero_results_ratio`, `error_ratio`: shares of all queries that were answered without a document, and that failed
 *   or timed out (weights calibrated by the counted arrivals; bounds over sessions, also where every query was kept: what
 *   the service is like is still known only from so many)
 * - `results_per_answer`: mean number of documents of the answers with any
 * - `context_characters`, `context_repeated_ratio`: of the answers whose documents all came with their texts, the length of
 *   these, and the share of it that an earlier document of the same answer said already
 * - `click_through_ratio`: share of the documents shown at the ranks 1 to 10 that were clicked
 * - `clicked_query_ratio`: share of queries with a click
 * - `clicked_reciprocal_rank`: mean reciprocal rank of the best clicked document, over queries with a click
 * - `clicks_over_expected_ratio`: clicks over those expected at the same positions in the baseline (COEC)
 *
 * Bounds are at 95 %, and take the queries of a session as dependent in any way.
 *
 * @throws RangeError for a probability outside (0, 1], or so small that weights overflow
 */
export function* measureSegment(
  queries: readonly SampledQuery[],
  window: WindowTraits,
): Generator<LiveMeasureOutcome, void, undefined> {
  const n = queries.length;
  const total = horvitzThompsonTotal(
    queries.map(({ cluster, probability }) => ({ cluster, probability, value: 1 })),
    window,
  );
  yield ofEstimate('queries', total, 'horvitz_thompson', n);
  yield ofShare('zero_results_ratio', queries, window, ({ outcome }) => outcome === 'empty');
  yield ofShare('error_ratio', queries, window, ({ outcome }) => outcome === 'error' || outcome === 'timeout');
  yield measureResults(queries);
  yield* measureContext(queries);
  const settled = queries.filter(({ occurredAtMs }) => occurredAtMs < window.clicksCompleteUntilMs);
  yield* measureClicks(settled, window);
}

function measureResults(queries: readonly SampledQuery[]): LiveMeasureOutcome {
  const measure = 'results_per_answer';
  if (queries.length === 0) return { kind: 'no_data', measure, reason: 'no_queries' };
  return ofRate(measure, resultsPerAnswer(queries), 'sessions_t');
}

function* measureContext(queries: readonly SampledQuery[]): Generator<LiveMeasureOutcome, void, undefined> {
  if (queries.every(({ context }) => context === null)) {
    const reason = queries.length === 0 ? 'no_queries' : 'no_texts';
    for (const measure of ['context_characters', 'context_repeated_ratio'] as const)
      yield { kind: 'no_data', measure, reason };
    return;
  }
  yield ofRate('context_characters', contextCharacters(queries), 'sessions_t');
  yield ofRate('context_repeated_ratio', repeatedContext(queries));
}

function* measureClicks(
  queries: readonly SampledQuery[],
  { reference, hasClicks }: WindowTraits,
): Generator<LiveMeasureOutcome, void, undefined> {
  if (!hasClicks || queries.length === 0) {
    const reason = queries.length === 0 ? 'no_queries' : 'no_clicks';
    for (const measure of clickMeasures) yield { kind: 'no_data', measure, reason };
    return;
  }
  yield ofRate('click_through_ratio', clickThroughRate(queries, DEFAULT_CLICK_CUTOFF));
  yield ofRate('clicked_query_ratio', clickedQueryRate(queries));
  yield ofRate('clicked_reciprocal_rank', clickedReciprocalRank(queries));
  yield expectedMeasure(queries, reference);
}

function expectedMeasure(queries: readonly SampledQuery[], reference: BaselineCtr | null): LiveMeasureOutcome {
  const measure = 'clicks_over_expected_ratio';
  if (reference === null) return { kind: 'no_data', measure, reason: 'no_baseline' };
  const outcome = clicksOverExpectedClicks(queries, reference);
  if (outcome.kind === 'insufficient_data') return ofInsufficient(measure, outcome);
  return bounded(measure, outcome, 'gamma');
}

function ofEstimate(
  measure: LiveMeasure,
  outcome: EstimateOutcome,
  ciMethod: string,
  sampled: number,
): LiveMeasureOutcome {
  if (outcome.kind === 'estimate' && sampled > 0) return bounded(measure, outcome, ciMethod);
  return { kind: 'no_data', measure, reason: sampled === 0 ? 'no_queries' : 'too_few_sessions' };
}

function ofShare(
  measure: LiveMeasure,
  queries: readonly SampledQuery[],
  { isComplete }: WindowTraits,
  holds: (query: SampledQuery) => boolean,
): LiveMeasureOutcome {
  if (queries.length === 0) return { kind: 'no_data', measure, reason: 'no_queries' };
  // Of queries that were kept by rule alone nobody knows how many others there were.
  if (!isComplete && chanceClusters(queries) < MIN_CLUSTERS)
    return { kind: 'no_data', measure, reason: 'too_few_sessions' };
  return ofRate(measure, queryRate(queries, holds));
}

function ofRate(measure: LiveMeasure, outcome: ClickRateOutcome, ciMethod = 'sessions_wilson'): LiveMeasureOutcome {
  return outcome.kind === 'rate' ? bounded(measure, outcome, ciMethod) : ofInsufficient(measure, outcome);
}

function ofInsufficient(measure: LiveMeasure, { of }: InsufficientFeedback): LiveMeasureOutcome {
  return { kind: 'no_data', measure, reason: of === 'clicks' ? 'too_few_clicks' : 'too_few_sessions' };
}

/** Rounding can carry a bound past the value by a last digit. */
function bounded(
  measure: LiveMeasure,
  { value, low, high, n }: { value: number; low: number; high: number; n: number },
  ciMethod: string,
): LiveMeasureOutcome {
  const ciLow = Math.min(low, value);
  return { kind: 'value', measure, value, ciLow, ciHigh: Math.max(high, value), ciMethod, n };
}
