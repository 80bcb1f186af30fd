/** Bounds of a weighted number of events. */
import type { Interval } from '../../../stats/intervals.ts';

/**
 * The gamma interval of Fay and Feuer (Statistics in Medicine 16, 1997) of a weighted count: the limits of the Poisson
 * distribution that has the ratio of mean to variance of the count, after one event of the largest weight was added for
 * the upper limit. Its chi-square quantiles are those of Wilson and Hilferty (1931); for equal weights that is Byar's
 * approximation to the exact Poisson limits (Breslow and Day, Statistical Methods in Cancer Research II, 1987, chapter
 * 2), within 0.2 % of them from 10 events on.
 *
 * The bounds are never below 0, lie further above a small count than below it, and are 0 to about 3.7 events for none.
 *
 * @param count sum of the weights of the events, >= 0
 * @param variance of the count, >= 0; 0 is certainty, but for the one event more
 * @param weight the largest that one event can have, > 0
 * @param z quantile of the confidence on one side: 1.96 for 95 %
 */
export function weightedCountInterval(count: number, variance: number, weight: number, z: number): Interval {
  const low = variance === 0 || count === 0 ? count : limit(count, variance, -z);
  return {
    low: Math.min(count, low),
    high: Math.max(count, limit(count + weight, variance + weight ** 2, z)),
  };
}

function limit(mean: number, variance: number, z: number): number {
  const events = mean ** 2 / variance;
  const root = 1 - 1 / (9 * events) + z / (3 * Math.sqrt(events));
  return mean * Math.max(0, root) ** 3;
}
