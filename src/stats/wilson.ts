import type { Interval } from './interval.ts';
import { normalQuantile } from './normal.ts';

/**
 * Score interval of a proportion, Wilson 1927:
 * (p + z^2/2n -+ z sqrt(p(1 - p)/n + z^2/4n^2)) / (1 + z^2/n). It lies in [0, 1] and does not shrink to a point when
 * every trial, or none, is a success.
 *
 * @param rate share of successes, in [0, 1]
 * @param n number of trials, >= 1
 */
export function wilsonInterval(rate: number, n: number, confidence: number): Interval {
  const z = -normalQuantile((1 - confidence) / 2);
  const shrink = 1 + (z * z) / n;
  const centre = (rate + (z * z) / (2 * n)) / shrink;
  const reach = (z * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n))) / shrink;
  return {
    low: rate === 0 ? 0 : Math.max(0, centre - reach),
    high: rate === 1 ? 1 : Math.min(1, centre + reach),
  };
}
