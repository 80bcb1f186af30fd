/**
 * A drop of the share of positive opinions, found within one window: evidence that the share of negative ones rose
 * above the baseline, by the e-detector that density is watched with. It keeps no state, so that a repeat, a restart and a
 * replica find the same: evidence that only counts the buckets of a window is never more than that of the whole past, and
 * so false alarms are no more frequent than its threshold says.
 */

import { MINUTE_MS } from '../../../core/time.ts';
import { alertThreshold, type FalsePageBudget } from '../../../density/rules/alert.ts';
import { median } from '../../../math/stats/descriptive.ts';
import { wilsonInterval } from '../../../math/stats/intervals.ts';
import { type DetectorSettings, newDetector, stepDetector } from '../../../math/stats/sequential.ts';
import { type InsufficientFeedback, tooFew } from './click-rates.ts';
import type { OpinionCounts } from './sentiment.ts';

/** The opinions whose latest feedback occurred within one bucket of time. */
export interface OpinionBucket extends OpinionCounts {
  readonly startMs: number;
}

/** The usual opinions, with `phi` >= 1 by how much more their share varies over time than by chance alone. */
export interface FeedbackBaseline extends OpinionCounts {
  readonly phi: number;
}

/** Fewest opinions that make a baseline. */
export const MIN_BASELINE_OPINIONS = 50;
/** Drops up to this many points of share are not reported. */
const MARGIN = 0.05;
/** Of this many latest opinions it is asked whether the drop is over. */
const LATEST = 50;
/** Buckets of a window: a drop is found later by one of them at most. */
const BUCKETS = 288;

/** Length of the buckets that a window of this length is cut into: 5 minutes of a day. */
export function bucketLengthMs(windowMs: number): number {
  return Math.max(1, Math.round(windowMs / BUCKETS / MINUTE_MS)) * MINUTE_MS;
}

/** Spans of the baseline that are compared with each other, and the fewest opinions of one, and the fewest spans. */
const SPANS = 48;
const MIN_SPAN_OPINIONS = 5;
const MIN_SPANS = 8;
/** Median of the chi-squared distribution with one degree of freedom. */
const MEDIAN_CHI_SQUARE = 0.4549;

/**
 * The baseline of some buckets. `phi` is the median squared deviation from the median share over what chance alone gives,
 * so that a few bad hours do not widen it.
 */
export function feedbackBaseline(buckets: readonly OpinionBucket[]): FeedbackBaseline | InsufficientFeedback {
  const { positive, negative } = sumOf(buckets);
  const n = positive + negative;
  const first = buckets[0];
  const last = buckets.at(-1);
  if (n < MIN_BASELINE_OPINIONS || first === undefined || last === undefined)
    return tooFew('opinions', n, MIN_BASELINE_OPINIONS);
  const spanMs = Math.max(1, (last.startMs - first.startMs) / SPANS);
  const spans = new Map<number, OpinionBucket[]>();
  for (const bucket of buckets) {
    const span = Math.floor((bucket.startMs - first.startMs) / spanMs);
    spans.set(span, [...(spans.get(span) ?? []), bucket]);
  }
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

export interface FeedbackDrop {
  /** Evidence over what fires; 1 and more is an alert. 0 once the latest opinions are nearer to the baseline than to the drop. */
  readonly evidenceRatio: number;
  readonly baselineShare: number;
  /** Positive share of the latest opinions, at least 50 where there are as many. */
  readonly latestShare: number;
  /** Most likely beginning of a drop, whether there is one or not. */
  readonly sinceMs: number;
  readonly opinions: number;
}

/** Evidence beyond this is not told apart. */
const MAX_LOG_RATIO = Math.log(1e6);

/**
 * The evidence of a drop at the end of the buckets, which are all of one window, empty ones left out.
 *
 * @param window until when its buckets are complete, and their length
 * @param budget of false alarms: as many in the period, at most, while the share is the usual one or up to 5 points lower
 */
export function feedbackDrop(
  { positive, negative, phi }: FeedbackBaseline,
  buckets: readonly OpinionBucket[],
  { untilMs, bucketMs }: { readonly untilMs: number; readonly bucketMs: number },
  budget: FalsePageBudget,
): FeedbackDrop | InsufficientFeedback {
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
    evidenceRatio: isOver ? 0 : Math.exp(Math.min(logRatio, MAX_LOG_RATIO)),
    baselineShare,
    latestShare,
    sinceMs: since.fromMs,
    opinions: all + bad,
  };
}

/** 1 for each negative opinion, 0 for each positive one. */
function scoresOf(bucket: OpinionBucket | undefined): Float64Array {
  if (bucket === undefined) return new Float64Array();
  return new Float64Array(bucket.positive + bucket.negative).fill(1, bucket.positive);
}

/** The span whose increments of one bet add up to most: when a drop began, and when it was last seen. */
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
