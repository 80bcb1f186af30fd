import { normalCdf } from './normal.ts';

/**
 * P(X > value) of the chi-square distribution with a whole number of degrees of freedom, by the finite sums of
 * Abramowitz and Stegun 26.4.4 and 26.4.5. All their terms are positive, so that the far tail keeps its digits.
 *
 * @param value >= 0
 * @param df whole number >= 1; the sum has df / 2 terms
 */
export function chiSquareTail(value: number, df: number): number {
  if (value <= 0) return 1;
  const isOdd = df % 2 === 1;
  // Each term is the last one times value / j. Its logarithm is kept, since the first may be too small for a number.
  let logTerm = isOdd ? (Math.log((2 * value) / Math.PI) - value) / 2 : -value / 2;
  let tail = isOdd ? 2 * normalCdf(-Math.sqrt(value)) : 0;
  for (let j = isOdd ? 3 : 2; j <= df; j += 2) {
    tail += Math.exp(logTerm);
    logTerm += Math.log(value / j);
  }
  return Math.min(1, tail);
}

/**
 * The value that the chi-square distribution stays below with probability `p`, by bisection of its tail.
 *
 * @param p in (0, 1)
 * @param df whole number >= 1
 */
export function chiSquareQuantile(p: number, df: number): number {
  let [low, high] = [0, df];
  while (chiSquareTail(high, df) > 1 - p) high *= 2;
  // So often that nothing is left between two neighbouring numbers.
  for (let step = 0; step < 200 && low < high; step++) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (chiSquareTail(middle, df) > 1 - p) low = middle;
    else high = middle;
  }
  return high;
}
