import { requireSamples, visitOrdered } from './ordered-samples.ts';

/**
 * Wasserstein-1 distance of two samples of scores: the integral of |Fx(t) - Fy(t)| dt, in units of the score. It is
 * what must be moved, times how far, to turn one distribution into the other.
 *
 * @throws RangeError if a sample is empty
 */
export function wassersteinDistance(x: ArrayLike<number>, y: ArrayLike<number>): number {
  requireSamples(x, y);
  let distance = 0;
  let last = 0;
  let gap = 0;
  visitOrdered(x, y, (value, atOrBelowX, atOrBelowY) => {
    // Before the first value the gap is 0, so that any start of the walk does.
    if (gap !== 0) distance += gap * (value - last);
    gap = Math.abs(atOrBelowX / x.length - atOrBelowY / y.length);
    last = value;
  });
  return distance;
}

/** Scores with the weight of each. */
export interface WeightedSample {
  readonly values: ArrayLike<number>;
  /** One per value, >= 0, not all 0; their scale does not matter. */
  readonly weights: ArrayLike<number>;
}

/**
 * Wasserstein-1 distance of weighted empirical distributions.
 *
 * @throws RangeError if a sample has no weight, or not one weight per value
 */
export function weightedWassersteinDistance(x: WeightedSample, y: WeightedSample): number {
  const steps = [...stepsOf(x, 1), ...stepsOf(y, -1)].toSorted((a, b) => a.value - b.value);
  let distance = 0;
  let gap = 0;
  for (const [i, { value, share }] of steps.entries()) {
    gap += share;
    distance += Math.abs(gap) * ((steps[i + 1]?.value ?? value) - value);
  }
  return distance;
}

interface Step {
  readonly value: number;
  /** By how much the difference of the two distribution functions changes here. */
  readonly share: number;
}

function stepsOf({ values, weights }: WeightedSample, sign: 1 | -1): Step[] {
  const total = Array.from(weights).reduce((sum, weight) => sum + weight, 0);
  if (weights.length !== values.length || !(total > 0)) {
    throw new RangeError('Each value needs a weight, and one of them must be above 0.');
  }
  return Array.from(values, (value, i) => ({ value, share: (sign * (weights[i] ?? 0)) / total }));
}
