/** How much weighted values tell, and how far an estimate is from its own replicates. */

/**
 * Kish's effective number, (sum w)^2 / sum w^2 (Kish, Survey Sampling, 1965): so many values of equal weight tell as much.
 * Of the contributions to a variance it is its degrees of freedom (Satterthwaite 1946). 0 without a weight, and where
 * the squares of tiny numbers vanish.
 *
 * @param weights >= 0
 */
export function effectiveNumber(weights: Iterable<number>): number {
  let [sum, squares] = [0, 0];
  for (const weight of weights) {
    sum += weight;
    squares += weight * weight;
  }
  return effectiveNumberOf(sum, squares);
}

/** Kish's effective number of weights of which only their sum and the sum of their squares are known. */
export function effectiveNumberOf(sum: number, squares: number): number {
  return squares === 0 ? 0 : (sum * sum) / squares;
}

/**
 * Variance of an estimate by the jackknife, (m - 1) / m sum (theta_i - mean)^2 (Tukey 1958). 0 for fewer than 2.
 *
 * @param replicates the estimate without each of the m parts
 */
export function jackknifeVariance(replicates: readonly number[]): number {
  if (replicates.length < 2) return 0;
  const mean = replicates.reduce((sum, value) => sum + value, 0) / replicates.length;
  const squares = replicates.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return ((replicates.length - 1) / replicates.length) * squares;
}
