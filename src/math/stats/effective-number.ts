/**
 * Kish's effective number, (sum w)^2 / sum w^2 (Kish, Survey Sampling, 1965): the number of equally weighted values
 * with the same information. If the weights are contributions to a variance, the number equals the degrees of freedom
 * of the variance (Satterthwaite 1946). Returns 0 if there are no weights, or if the squares of tiny weights underflow.
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

/** Kish's effective number, from the sum of the weights and the sum of their squares. */
export function effectiveNumberOf(sum: number, squares: number): number {
  return squares === 0 ? 0 : (sum * sum) / squares;
}

/**
 * Jackknife variance of an estimate, (m - 1) / m sum (theta_i - mean)^2 (Tukey 1958). Returns 0 for fewer than 2
 * replicates.
 *
 * @param replicates m estimates, each computed without one of the m parts of the data
 */
export function jackknifeVariance(replicates: readonly number[]): number {
  if (replicates.length < 2) return 0;
  const mean = replicates.reduce((sum, value) => sum + value, 0) / replicates.length;
  const squares = replicates.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return ((replicates.length - 1) / replicates.length) * squares;
}
