/** Two samples of scores, walked through together in ascending order. */

/**
 * @param value a value that at least one of the samples holds
 * @param atOrBelowX how many of x are <= value, of all of x that came so far
 * @param atOrBelowY the same of y
 */
export type OrderedVisitor = (value: number, atOrBelowX: number, atOrBelowY: number) => void;

/** Visits every distinct value of the two samples once, ascending. Neither sample holds NaN. */
export function visitOrdered(x: ArrayLike<number>, y: ArrayLike<number>, visit: OrderedVisitor): void {
  const sortedX = Float64Array.from(x).toSorted();
  const sortedY = Float64Array.from(y).toSorted();
  let i = 0;
  let j = 0;
  while (i < sortedX.length || j < sortedY.length) {
    const value = Math.min(sortedX[i] ?? Number.POSITIVE_INFINITY, sortedY[j] ?? Number.POSITIVE_INFINITY);
    while (i < sortedX.length && sortedX[i] === value) i++;
    while (j < sortedY.length && sortedY[j] === value) j++;
    visit(value, i, j);
  }
}

/** @throws RangeError when one of the samples is empty: no statistic of two samples is defined then. */
export function requireSamples(x: ArrayLike<number>, y: ArrayLike<number>): void {
  if (x.length === 0 || y.length === 0) throw new RangeError('Both samples need at least one value.');
}
