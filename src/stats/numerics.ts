/** Bisection, and sums of numbers that are held as logarithms, without leaving the range of floating point. */

/**
 * The least k in [from, to) that fulfils a condition which holds for all larger ones as well, in log(to - from) steps;
 * `to` when none does.
 */
export function firstWhere(from: number, to: number, holds: (k: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** ln(e^a + e^b). */
export function logAdd(a: number, b: number): number {
  const high = Math.max(a, b);
  if (high === Number.NEGATIVE_INFINITY) return high;
  return high + Math.log1p(Math.exp(Math.min(a, b) - high));
}

/** ln of the mean of the e^value. @throws RangeError without values */
export function logMean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('The mean of no values is not defined.');
  const high = Math.max(...values);
  if (high === Number.NEGATIVE_INFINITY) return high;
  const sum = values.reduce((total, value) => total + Math.exp(value - high), 0);
  return high + Math.log(sum / values.length);
}
