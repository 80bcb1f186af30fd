/** Energy distance, Szekely and Rizzo 2013. */
import { requireSamples, visitOrdered } from './ordered-samples.ts';
import { type PairTable, sumOverPairs } from './pair-distances.ts';

/**
 * Energy distance of two samples of scores in the root form, sqrt(2 integral (Fx(t) - Fy(t))^2 dt).
 *
 * @throws RangeError if a sample is empty
 */
export function energyDistanceOfScores(x: ArrayLike<number>, y: ArrayLike<number>): number {
  requireSamples(x, y);
  let integral = 0;
  let last = 0;
  let gap = 0;
  visitOrdered(x, y, (value, atOrBelowX, atOrBelowY) => {
    if (gap !== 0) integral += gap * gap * (value - last);
    gap = atOrBelowX / x.length - atOrBelowY / y.length;
    last = value;
  });
  return Math.sqrt(2 * integral);
}

export interface EnergyDistance {
  /** Means over all pairs, a row with itself included: never negative. */
  readonly v: number;
  /** Without those: 0 on average without drift, and then as often below it. */
  readonly u: number;
}

/**
 * Energy distance of two samples of vectors, 2 E|X - Y| - E|X - X'| - E|Y - Y'|, in units of the vectors.
 *
 * @throws RangeError if a sample has fewer than two rows
 */
export function energyDistance(distances: PairTable): EnergyDistance {
  const { n, m } = distances;
  if (n < 2 || m < 2) throw new RangeError('The energy distance needs at least two rows in each sample.');
  const sums = sumOverPairs(distances, Math.sqrt);
  const between = (2 * sums.between) / (n * m);
  return {
    v: between - (2 * sums.withinX) / (n * n) - (2 * sums.withinY) / (m * m),
    u: between - (2 * sums.withinX) / (n * (n - 1)) - (2 * sums.withinY) / (m * (m - 1)),
  };
}
