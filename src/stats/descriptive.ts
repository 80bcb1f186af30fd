/** Mean, median, spread and skewness. */

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

/**
 * Median, the mean of the two middle values when their number is even, in linear time: by Hoare's selection (1961)
 * with the median of three as pivot.
 *
 * @param values without NaN; their order is changed
 * @throws RangeError without values
 */
export function medianInPlace(values: Float64Array): number {
  if (values.length === 0) throw new RangeError('The median of no values is not defined.');
  const middle = values.length >>> 1;
  const upper = select(values, middle);
  if (values.length % 2 === 1) return upper;
  let lower = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < middle; i++) lower = Math.max(lower, values[i] ?? lower);
  return (lower + upper) / 2;
}

/** Median of values, which stay as they are. @throws RangeError without values */
export function median(values: ArrayLike<number>): number {
  return medianInPlace(Float64Array.from(values));
}

/** The value that sorting would put at `place`; smaller ones, or equal, end up before it. */
function select(values: Float64Array, place: number): number {
  let from = 0;
  let to = values.length - 1;
  while (from < to) {
    const pivot = medianOfThree(values[from] ?? 0, values[(from + to) >>> 1] ?? 0, values[to] ?? 0);
    let low = from;
    let high = to;
    while (low <= high) {
      while ((values[low] ?? 0) < pivot) low++;
      while ((values[high] ?? 0) > pivot) high--;
      if (low > high) break;
      const kept = values[low] ?? 0;
      values[low++] = values[high] ?? 0;
      values[high--] = kept;
    }
    if (place <= high) to = high;
    else if (place >= low) from = low;
    else break;
  }
  return values[place] ?? 0;
}

function medianOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
