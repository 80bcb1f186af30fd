/**
 * The sums of values over all 2^n choices of their signs; bit i of the index is set where value i counts as positive.
 *
 * @param values at most 30
 */
export function signedSums(values: ArrayLike<number>): Float64Array {
  const sums = new Float64Array(2 ** values.length);
  let filled = 1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    for (let j = 0; j < filled; j++) {
      const sum = sums[j] ?? 0;
      sums[j] = sum - value;
      sums[filled + j] = sum + value;
    }
    filled *= 2;
  }
  return sums;
}
