/**
 * Detects a drop in the share of positive opinions within one window. Uses the e-detector that also monitors density.
 * The detector stores no state between windows, so retries, restarts and replicas get the same result. The e-value over
 * the buckets of one window never exceeds the e-value over the whole past, so the number of false alerts stays within
 * the budget.
 */

import { groupBy } from '../../../core/group-by.ts';
import { MINUTE_MS } from '../../../core/time.ts';
import { alertThreshold, type FalsePageBudget } from '../../../density/rules/alert.ts';
import { median } from '../../../math/stats/descriptive.ts';
import { wilsonInterval } from '../../../math/stats/intervals.ts';
import { type DetectorSettings, newDetector, stepDetector } from '../../../math/stats/sequential.ts';
import { type InsufficientFeedback, tooFew } from './click-rates.ts';
import type { OpinionCounts } from './sentiment.ts';

/**
 * Counts of the opinions whose latest feedback occurred within a time bucket. Opinions beyond the cap per user are
 * excluded.
 */
export interface OpinionBucket extends OpinionCounts {
  readonly startMs: number;
}

export type FeedbackBaseline = Exclude<ReturnType<typeof feedbackBaseline>, InsufficientFeedback>;

/** Minimum number of opinions for a baseline. */
export const MIN_BASELINE_OPINIONS = 50;
/** Largest drop that is not reported: 5 percentage points. */
const MARGIN = 0.05;
/** Number of opinions, counted back from the latest, that determine whether a drop has ended. */
const LATEST = 50;
/** Number of buckets per window. Dividing the window into buckets delays detection by at most one bucket. */
const BUCKETS = 288;

/** Returns the bucket length for a window: 5 minutes for a window of one day. */
export function bucketLengthMs(windowMs: number): number {
  return Math.max(1, Math.round(windowMs / BUCKETS / MINUTE_MS)) * MINUTE_MS;
}

/** Number of time spans over which the overdispersion is estimated. */
const SPANS = 48;
/** Minimum number of opinions in a time span; time spans with fewer opinions are excluded from the estimate. */
const MIN_SPAN_OPINIONS = 5;
/** Minimum number of time spans with enough opinions; with fewer, the overdispersion is assumed to be 1. */
const MIN_SPANS = 8;
/** Median of the chi-squared distribution with one degree of freedom. */
const MEDIAN_CHI_SQUARE = 0.4549;

/**
 * Computes the baseline from buckets. `phi` is the median squared deviation from the median share, divided by the value
 * expected from chance alone, but at least 1. Medians are used so that a few bad hours do not inflate `phi`.
 */
export function feedbackBaseline(buckets: readonly OpinionBucket[]) {
  const { positive, negative } = sumOf(buckets);
  const n = positive + negative;
  const first = buckets[0];
  const last = buckets.at(-1);
  if (n < MIN_BASELINE_OPINIONS || first === undefined || last === undefined)
    return tooFew('opinions', n, MIN_BASELINE_OPINIONS);
  const spanMs = Math.max(1, (last.startMs - first.startMs) / SPANS);
  const spans = groupBy(buckets, ({ startMs }) => Math.floor((startMs - first.startMs) / spanMs));
  // `phi` is the overdispersion (>= 1), which is the variance of the share over time divided by the variance expected
  // from chance alone.
  return { positive, negative, phi: overdispersionOf([...spans.values()].map(sumOf)) };
}

function overdispersionOf(spans: readonly OpinionCounts[]): number {
  const large = spans.filter(({ positive, negative }) => positive + negative >= MIN_SPAN_OPINIONS);
  if (large.length < MIN_SPANS) return 1;
  const usual = median(large.map(({ positive, negative }) => negative / (positive + negative)));
  if (usual === 0 || usual === 1) return 1;
  const squares = large.map(({ positive, negative }) => {
    const size = positive + negative;
    return (negative - size * usual) ** 2 / (size * usual * (1 - usual));
  });
  return Math.max(1, median(squares) / MEDIAN_CHI_SQUARE);
}

const MAX_LOG_RATIO = Math.log(1e6);

/**
 * Tests for a drop at the end of a window.
 *
 * @param buckets non-empty buckets of one window, oldest first
 * @param window end of the last complete bucket, and the bucket length
 * @param budget maximum number of false alerts per period; an alert is false unless the share has dropped by more than
 *   5 percentage points
 */
export function feedbackDrop(
  { positive, negative, phi }: FeedbackBaseline,
  buckets: readonly OpinionBucket[],
  { untilMs, bucketMs }: { readonly untilMs: number; readonly bucketMs: number },
  budget: FalsePageBudget,
) {
  const first = buckets[0];
  if (first === undefined) return tooFew('opinions', 0, 1);
  const usual = positive + negative;
  const usualNegative = negative / usual;
  const highest = wilsonInterval(usualNegative, Math.max(1, usual / phi), 0.95).high;
  const settings: DetectorSettings = { nullMean: Math.min(0.95, highest + MARGIN), phi };
  const byStart = new Map(buckets.map((bucket) => [bucket.startMs, bucket]));
  let state = newDetector(settings);
  let logEvidence = Number.NEGATIVE_INFINITY;
  const steps: { startMs: number; logIncrements: readonly number[] }[] = [];
  for (let startMs = first.startMs; startMs < untilMs; startMs += bucketMs) {
    const step = stepDetector(settings, state, scoresOf(byStart.get(startMs)));
    ({ state, logEvidence } = step);
    steps.push({ startMs, logIncrements: step.logIncrements });
  }
  const { positive: all, negative: bad } = sumOf(buckets);
  const baselineShare = 1 - usualNegative;
  const since = worstSpan(steps);
  const dropped = shareOf(buckets.filter(({ startMs }) => startMs >= since.fromMs && startMs <= since.untilMs));
  const latestShare = shareOf(latestOf(buckets));
  const isOver = latestShare > (baselineShare + dropped) / 2;
  const logRatio = logEvidence - Math.log(alertThreshold(budget, bucketMs, 1));
  return {
    /**
     * E-value relative to the threshold: the alert fires at 1. The value is 0 once the positive share of the latest
     * opinions is closer to the baseline share than to the share during the drop.
     */
    evidenceRatio: isOver ? 0 : Math.exp(Math.min(logRatio, MAX_LOG_RATIO)),
    baselineShare,
    /** Positive share of the latest opinions (at least 50, if there are that many). */
    latestShare,
    /** Estimated onset of a drop; set even if no drop was detected. */
    sinceMs: since.fromMs,
    opinions: all + bad,
  };
}

/** Returns 1 for each negative opinion and 0 for each positive opinion. */
function scoresOf(bucket: OpinionBucket | undefined): Float64Array {
  if (bucket === undefined) return new Float64Array();
  return new Float64Array(bucket.positive + bucket.negative).fill(1, bucket.positive);
}

/**
 * Returns the time span of the worst drop, from its onset to its last bucket: the span in which the log increments of a
 * single bet have the largest sum.
 */
function worstSpan(steps: readonly { readonly startMs: number; readonly logIncrements: readonly number[] }[]) {
  let worst = { sum: Number.NEGATIVE_INFINITY, fromMs: steps[0]?.startMs ?? 0, untilMs: steps[0]?.startMs ?? 0 };
  for (const bet of steps[0]?.logIncrements.keys() ?? []) {
    let [sum, fromMs] = [0, 0];
    for (const { startMs, logIncrements } of steps) {
      if (sum <= 0) [sum, fromMs] = [0, startMs];
      sum += logIncrements[bet] ?? 0;
      if (sum > worst.sum) worst = { sum, fromMs, untilMs: startMs };
    }
  }
  return worst;
}

function latestOf(buckets: readonly OpinionBucket[]): readonly OpinionBucket[] {
  let n = 0;
  const from = buckets.findLastIndex(({ positive, negative }) => (n += positive + negative) >= LATEST);
  return buckets.slice(Math.max(0, from));
}

function sumOf(buckets: readonly OpinionBucket[]): OpinionCounts {
  let [positive, negative] = [0, 0];
  for (const bucket of buckets) {
    positive += bucket.positive;
    negative += bucket.negative;
  }
  return { positive, negative };
}

function shareOf(buckets: readonly OpinionBucket[]): number {
  const { positive, negative } = sumOf(buckets);
  return positive / (positive + negative);
}
