/**
 * Arithmetic mean by Neumaier's compensated sum (1974): right to the last digits whatever the size and order of the
 * values, and never outside their range.
 *
 * @throws RangeError without values: the mean of nothing is a bug of the caller, never NaN
 */
export function mean(values: ArrayLike<number>): number {
  if (values.length === 0) throw new RangeError('The mean of no values is not defined.');
  let sum = 0;
  let lost = 0;
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return Math.min(greatest, Math.max(least, (sum + lost) / values.length));
}
