import { normalCdf } from './normal.ts';

/** Where the density of the spread has fallen to e^-45 of its peak, nothing is left to add. */
const NEGLIGIBLE = 45;

/**
 * P(T > t) of the noncentral t distribution, T = (Z + noncentrality) / S with S^2 = chi^2(df) / df, to about 1e-12.
 *
 * P(T > t) is the mean of Phi(noncentrality - t S) over S (Owen 1965). It is taken over x = ln S by the trapezoidal
 * rule, which converges exponentially because the integrand dies away on both sides (Trefethen and Weideman 2014).
 */
export function noncentralTUpperTail(t: number, df: number, noncentrality: number): number {
  const step = 0.1 / Math.sqrt(Math.max(1, df));
  let sum = 0;
  let weights = 0;
  for (const side of [1, -1]) {
    for (let x = side === 1 ? 0 : -step; fallAt(x, df) < NEGLIGIBLE; x += side * step) {
      const weight = Math.exp(-fallAt(x, df));
      weights += weight;
      sum += weight * normalCdf(noncentrality - t * Math.exp(x));
    }
  }
  return sum / weights;
}

/** How far the logarithm of the density of ln S lies below its peak at 0: df/2 (e^(2x) - 1 - 2x). */
function fallAt(x: number, df: number): number {
  return (df / 2) * (Math.expm1(2 * x) - 2 * x);
}
