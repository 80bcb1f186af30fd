import { requireSamples, visitOrdered } from './ordered-samples.ts';

/** The largest distance of two empirical distribution functions, each from 0 to 1. */
export interface KolmogorovSmirnov {
  /** max |Fx - Fy|. */
  readonly d: number;
  /** max (Fx - Fy). */
  readonly dPlus: number;
  /** max (Fy - Fx). */
  readonly dMinus: number;
  /** P(D >= d) by Kolmogorov's limit, at sqrt(n m / (n + m)) d; conservative with ties and in small samples. */
  readonly pKolmogorov: number;
  /** The same with the small-sample correction of Stephens 1970. */
  readonly pStephens: number;
}

/**
 * Two-sample Kolmogorov-Smirnov statistic with right-continuous distribution functions and ties pooled.
 *
 * @throws RangeError if a sample is empty
 */
export function kolmogorovSmirnov(x: ArrayLike<number>, y: ArrayLike<number>): KolmogorovSmirnov {
  requireSamples(x, y);
  const n = x.length;
  const m = y.length;
  // Whole numbers over n m, so that equal distances are equal whatever the sample sizes.
  let above = 0;
  let below = 0;
  visitOrdered(x, y, (_value, atOrBelowX, atOrBelowY) => {
    const difference = atOrBelowX * m - atOrBelowY * n;
    above = Math.max(above, difference);
    below = Math.max(below, -difference);
  });
  const d = Math.max(above, below) / (n * m);
  const root = Math.sqrt((n * m) / (n + m));
  return {
    d,
    dPlus: above / (n * m),
    dMinus: below / (n * m),
    pKolmogorov: kolmogorovTail(root * d),
    pStephens: kolmogorovTail((root + 0.12 + 0.11 / root) * d),
  };
}

/**
 * P(K > z) of Kolmogorov's distribution, 2 sum_{j>=1} (-1)^(j-1) exp(-2 j^2 z^2); for small z by the equal series of
 * Jacobi's theta function, which converges there: 1 - sqrt(2 pi) / z sum_{j>=1} exp(-(2j-1)^2 pi^2 / (8 z^2)).
 *
 * @param z >= 0
 */
export function kolmogorovTail(z: number): number {
  if (z <= 0) return 1;
  let sum = 0;
  if (z < 1) {
    for (let j = 1; j <= 9; j += 2) sum += Math.exp(-((j * Math.PI) ** 2) / (8 * z * z));
    return 1 - (Math.sqrt(2 * Math.PI) / z) * sum;
  }
  for (let j = 1; j <= 8; j++) sum += (j % 2 === 1 ? 2 : -2) * Math.exp(-2 * (j * z) ** 2);
  return sum;
}

/**
 * The exact P(D >= d) over all ways to split n + m distinct values into samples of n and m, by the recursion of Hodges
 * 1957 on the paths that leave the band. Takes n m steps; it is meant for samples without ties.
 */
export function exactKolmogorovSmirnovP(d: number, n: number, m: number): number {
  const limit = Math.round(d * n * m);
  // outside[j]: chance that a path to (i, j), all being equally likely, has left the band.
  const outside = new Float64Array(m + 1);
  for (let i = 0; i <= n; i++) {
    for (let j = 0; j <= m; j++) {
      if (Math.abs(i * m - j * n) >= limit) {
        outside[j] = 1;
        continue;
      }
      const fromX = i === 0 ? 0 : (i / (i + j)) * (outside[j] ?? 0);
      const fromY = j === 0 ? 0 : (j / (i + j)) * (outside[j - 1] ?? 0);
      outside[j] = fromX + fromY;
    }
  }
  return outside[m] ?? 1;
}
