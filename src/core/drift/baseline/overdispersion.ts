/** How much the baseline itself spreads, and the worst mean surprise that still counts as no drift. */

import { LARGEST_SURPRISE } from '../coverage/percentile.ts';
import { BASELINE_MEAN_X } from '../coverage/query-density.ts';

export interface WindowMean {
  readonly sessions: number;
  /** Mean of x over the sessions of the window. */
  readonly meanX: number;
}

/** Mean and variance of the session means of x over the whole baseline. */
export interface PooledSurprise {
  readonly mean: number;
  readonly variance: number;
}

export interface Overdispersion {
  /** Variance of the window means over that of independent sessions; below 1 by luck. */
  readonly phiRaw: number;
  readonly phi: number;
}

/**
 * Overdispersion of the window means over that of independent sessions, with n_w the sessions of window w:
 *
 *     phi = max(1, sum over w of n_w (mean_w - mean)^2 / ((W - 1) variance))
 *
 * Windows without sessions do not count; below two windows, or without variance, phi is 1.
 */
export function overdispersion(windows: readonly WindowMean[], pooled: PooledSurprise): Overdispersion {
  const filled = windows.filter(({ sessions }) => sessions > 0);
  if (filled.length < 2 || pooled.variance <= 0) return { phiRaw: 1, phi: 1 };
  let squares = 0;
  for (const { sessions, meanX } of filled) squares += sessions * (meanX - pooled.mean) ** 2;
  const phiRaw = squares / ((filled.length - 1) * pooled.variance);
  return { phiRaw, phi: Math.max(1, phiRaw) };
}

/**
 * Upper bound of the baseline's true mean of x: max(0.99, mean) + z sqrt(phi variance / sessions). It carries the
 * error of the baseline into the detectors.
 */
export function meanXUpper(pooled: PooledSurprise, phi: number, sessions: number, z: number): number {
  return Math.max(BASELINE_MEAN_X, pooled.mean) + z * Math.sqrt((phi * pooled.variance) / sessions);
}

/**
 * The largest mean of y = x / ln 100 that counts as no drift: (meanXUpper - ln floor) / ln 100.
 *
 * @param floor density that is still fine, such as 0.95
 */
export function nullMean(upper: number, floor: number): number {
  return (upper - Math.log(floor)) / LARGEST_SURPRISE;
}
