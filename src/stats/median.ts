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
