/** Student's t distribution with `df` degrees of freedom (> 0). */
import { incompleteBeta, logBeta } from './incomplete-beta.ts';
import type { Interval } from './interval.ts';
import { normalQuantile } from './normal.ts';

/**
 * P(T <= t), also in the lower tail with a relative error below 1e-11 for df up to 10^6. Abramowitz and Stegun 26.7.1.
 */
export function studentTCdf(t: number, df: number): number {
  return t > 0 ? 1 - upperTail(t, df) : upperTail(-t, df);
}

/**
 * The t with P(T <= t) = p, relative error below 1e-11 for df up to 10^6.
 *
 * @param p in [0, 1]; 0 and 1 give the infinities
 */
export function studentTQuantile(p: number, df: number): number {
  if (p === 0.5) return 0;
  if (p > 0.5) return -studentTQuantile(1 - p, df);
  if (p <= 0) return Number.NEGATIVE_INFINITY;
  // The upper tail is convex and heavier than the normal one, so that Newton's steps climb from the normal quantile
  // to the root and never pass it.
  let t = -normalQuantile(p);
  for (let step = 0; step < 500; step++) {
    const change = (upperTail(t, df) - p) / density(t, df);
    t += change;
    if (change <= 1e-14 * t) break;
  }
  return -t;
}

/**
 * Confidence interval of a mean: mean -+ t * sd / sqrt(n), t the quantile with n - 1 degrees of freedom.
 *
 * @param standardDeviation of the values, with n - 1 in the denominator
 * @param n number of values; 1 tells nothing of the spread and gives the whole line
 */
export function studentTInterval(
  mean: number,
  standardDeviation: number,
  n: number,
  confidence: number,
): Interval {
  if (n < 2) return { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const reach = (-studentTQuantile((1 - confidence) / 2, n - 1) * standardDeviation) / Math.sqrt(n);
  return { low: mean - reach, high: mean + reach };
}

/** P(T > t) for t >= 0. */
function upperTail(t: number, df: number): number {
  const square = t * t;
  return incompleteBeta(df / (df + square), square / (df + square), df / 2, 0.5) / 2;
}

function density(t: number, df: number): number {
  const logKernel = -((df + 1) / 2) * Math.log1p((t * t) / df);
  return Math.exp(logKernel - logBeta(df / 2, 0.5)) / Math.sqrt(df);
}
