import { mean } from './mean.ts';

export interface Moments {
  readonly mean: number;
  /** With n - 1 in the denominator; 0 for one value. */
  readonly standardDeviation: number;
  /** Fisher's G1 = m3 / m2^1.5 with central moments over n; 0 without spread. */
  readonly skewness: number;
}

/**
 * Mean, spread and skewness of values.
 *
 * @throws RangeError without values
 */
export function moments(values: ArrayLike<number>): Moments {
  const n = values.length;
  const centre = mean(values);
  let widest = 0;
  for (let i = 0; i < n; i++) widest = Math.max(widest, Math.abs((values[i] ?? 0) - centre));
  if (widest === 0) return { mean: centre, standardDeviation: 0, skewness: 0 };
  // Deviations are divided by the widest one, so that no power of a small one underflows.
  let squares = 0;
  let cubes = 0;
  for (let i = 0; i < n; i++) {
    const deviation = ((values[i] ?? 0) - centre) / widest;
    squares += deviation * deviation;
    cubes += deviation ** 3;
  }
  return {
    mean: centre,
    standardDeviation: widest * Math.sqrt(squares / (n - 1)),
    skewness: cubes / n / (squares / n) ** 1.5,
  };
}
