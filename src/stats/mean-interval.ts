import { bcaInterval } from './bootstrap.ts';
import type { Interval } from './interval.ts';
import { moments } from './moments.ts';
import { studentTInterval } from './student-t.ts';

export interface MeanInterval extends Interval {
  readonly method: 'bca' | 't';
}

const FEWEST_FOR_BOOTSTRAP = 10;
const FEWEST_FOR_T = 50;
const MOST_REPLICATES = 9_999;
const FEWEST_REPLICATES = 999;
/** Keeps a bootstrap interval at about 0.1 s up to 20,000 values. */
const MOST_DRAWS = 20_000_000;
const SEED = 1;

/**
 * Confidence interval of a mean by the method that suits the values.
 *
 * - `bca` from 10 to 49 values, and above when they are so skewed that the t interval would miss: n <= 25 G1^2, the
 *   rule of Cochran, Sampling Techniques, 1977, section 2.15. It takes 9,999 seeded replicates, fewer above 2,000
 *   values, but at least 999.
 * - `t` otherwise. Below 10 values too: replicates cannot leave the range of the values, so that a bootstrap interval
 *   of 5 queries covers the true mean of a typical nDCG in 82 % of cases and the t interval in 92 %.
 *
 * Values that are all the same give a point, one value gives the whole line.
 *
 * @param values in any order, which does not change the interval
 * @throws RangeError without values
 */
export function meanInterval(values: ArrayLike<number>, confidence: number): MeanInterval {
  const sorted = Float64Array.from(values).toSorted();
  const n = sorted.length;
  const { mean, standardDeviation, skewness } = moments(sorted);
  if (n < FEWEST_FOR_BOOTSTRAP || (n >= FEWEST_FOR_T && n > 25 * skewness ** 2)) {
    return { ...studentTInterval(mean, standardDeviation, n, confidence), method: 't' };
  }
  const replicates = Math.max(FEWEST_REPLICATES, Math.min(MOST_REPLICATES, Math.floor(MOST_DRAWS / n)));
  const { low, high } = bcaInterval(sorted, { confidence, replicates, seed: SEED });
  return { low, high, method: 'bca' };
}
