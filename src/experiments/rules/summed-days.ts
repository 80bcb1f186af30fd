/**
 * Interim analyses after each day of live traffic: sums over sessions, and a verdict with bounds that are valid however
 * often people check the results. Each day is summed once, and the verdict is recomputed from the sums.
 */
import { normalMixtureInterval } from '../../math/stats/sequential.ts';
import { addSums, ratioOf, type SessionSums, type SummedRatio } from '../../math/stats/session-sums.ts';
import type { ComparisonStatus } from './verdict.ts';

/** A whole day (UTC) of an experiment. A day's data contains no query ids, texts or user ids. */
export interface SummedDay {
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly sums: Readonly<Record<string, SessionSums>>;
}

export function totalOf(days: readonly SummedDay[], name: string): number {
  return days.reduce((total, { counts }) => total + (counts[name] ?? 0), 0);
}

type Estimate = Omit<SummedRatio, 'sessions'>;

/** Computes the ratio of two sums after each day; null before the first session. */
export function ratiosOver(days: readonly SummedDay[], name: string): (SummedRatio | null)[] {
  let sums = addSums([]);
  return days.map((day) => {
    sums = addSums([sums, day.sums[name] ?? []]);
    return ratioOf(sums);
  });
}

/**
 * Computes the difference of two independent ratios. Its degrees of freedom are the smaller of the two ratios' degrees
 * of freedom.
 */
export function differenceOf(candidate: SummedRatio | null, baseline: SummedRatio | null): Estimate | null {
  if (candidate === null || baseline === null) return null;
  return {
    value: candidate.value - baseline.value,
    variance: baseline.variance + candidate.variance,
    degreesOfFreedom: Math.min(baseline.degreesOfFreedom, candidate.degreesOfFreedom),
  };
}

/** Minimum degrees of freedom that a variance must have to support a verdict or a forecast. */
const MIN_FREEDOM = 30;

export function isKnown(estimate: Estimate | null): estimate is Estimate {
  return estimate !== null && estimate.degreesOfFreedom >= MIN_FREEDOM;
}

/**
 * Status of a comparison at the end of its latest day, and the means over all live traffic. The means are null before
 * the first session.
 */
export type DaysStatus = ComparisonStatus & Readonly<Record<'baseline' | 'candidate', SummedRatio | null>>;

/**
 * Computes the status after each day. The bounds form a confidence sequence (`normalMixtureInterval`): if the candidate
 * does not differ from the baseline, the probability that a difference is ever reported is at most alpha. The first
 * decisive day determines the verdict, and no later day revokes it.
 *
 * @param estimates estimates of the mean difference, one per day in ascending order; each is computed from its day and
 *   all earlier days
 * @param test `alpha`: probability that a difference is ever reported for a candidate that is no different from the
 *   baseline. `scale`: difference for which the bounds are tightest, > 0. `minEffect`: smallest difference that is
 *   reported. `margin`: if the bounds are within this difference, the verdict is `no_change`
 */
export function statusOverDays(
  estimates: readonly { readonly day: string; readonly estimate: Estimate | null }[],
  test: Readonly<Record<'alpha' | 'scale' | 'minEffect' | 'margin', number>>,
): ComparisonStatus {
  const { alpha, scale, minEffect, margin } = test;
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
