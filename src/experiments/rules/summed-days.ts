/**
 * Interim analyses after each day of live traffic: sums over sessions, and a verdict whose bounds hold however often people
 * look. Days are summed once; a verdict is found again from them.
 */
import { normalMixtureInterval } from '../../math/stats/sequential.ts';
import { addSums, ratioOf, type SessionSums, type SummedRatio } from '../../math/stats/session-sums.ts';
import type { ComparisonStatus } from './verdict.ts';

/** A whole day (UTC) of an experiment. It holds no query, text or person. */
export interface SummedDay {
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly sums: Readonly<Record<string, SessionSums>>;
}

/** Totals of a count over days. */
export function totalOf(days: readonly SummedDay[], name: string): number {
  return days.reduce((total, { counts }) => total + (counts[name] ?? 0), 0);
}

type Estimate = Omit<SummedRatio, 'sessions'>;

/** The ratio of some sums after each day; null before the first session. */
export function ratiosOver(days: readonly SummedDay[], name: string): (SummedRatio | null)[] {
  let sums = addSums([]);
  return days.map((day) => {
    sums = addSums([sums, day.sums[name] ?? []]);
    return ratioOf(sums);
  });
}

/** The difference of two independent ratios. Its variance is known as well as that of the worse known. */
export function differenceOf(candidate: SummedRatio | null, baseline: SummedRatio | null): Estimate | null {
  if (candidate === null || baseline === null) return null;
  return {
    value: candidate.value - baseline.value,
    variance: baseline.variance + candidate.variance,
    degreesOfFreedom: Math.min(baseline.degreesOfFreedom, candidate.degreesOfFreedom),
  };
}

/** Degrees of freedom of a variance below which it is not known well enough to call anything, or to plan by. */
const MIN_FREEDOM = 30;

export function isKnown(estimate: Estimate | null): estimate is Estimate {
  return estimate !== null && estimate.degreesOfFreedom >= MIN_FREEDOM;
}

/** A comparison after the latest of its days, with the means of both sides over all live traffic; null without a session. */
export interface DaysStatus extends ComparisonStatus {
  readonly baseline: SummedRatio | null;
  readonly candidate: SummedRatio | null;
}

interface SequentialTest {
  /** Chance that an equal candidate is ever called. */
  readonly alpha: number;
  /** Difference for which the bounds are tightest, > 0. */
  readonly scale: number;
  /** Least difference that is called. */
  readonly minEffect: number;
  /** Bounds within it say `no_change`. */
  readonly margin: number;
}

/**
 * The bounds after each day are a confidence sequence (`normalMixtureInterval`): an equal candidate is ever called with a
 * chance of alpha at most. The first day that calls it decides, and no later one takes it back.
 *
 * @param estimates of the mean difference, from all days until each of them; rising
 */
export function statusOverDays(
  estimates: readonly { readonly day: string; readonly estimate: Estimate | null }[],
  { alpha, scale, minEffect, margin }: SequentialTest,
): ComparisonStatus {
  let difference: ComparisonStatus['difference'] = null;
  let called: { readonly verdict: 'regression' | 'improvement'; readonly calledOn: string } | null = null;
  for (const { day, estimate } of estimates) {
    difference = null;
    if (!isKnown(estimate)) continue;
    const { value, variance } = estimate;
    difference = { value, ...normalMixtureInterval(value, variance, scale, alpha) };
    if (value <= -minEffect && difference.high < 0) called ??= { verdict: 'regression', calledOn: day };
    if (value >= minEffect && difference.low > 0) called ??= { verdict: 'improvement', calledOn: day };
  }
  const isWithin = difference !== null && difference.low > -margin && difference.high < margin;
  const open = difference === null ? 'no_data' : isWithin ? 'no_change' : 'inconclusive';
  return { verdict: open, calledOn: null, ...called, difference };
}
