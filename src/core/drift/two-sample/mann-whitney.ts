import { normalCdf } from '../../stats/normal.ts';
import { requireSamples, visitOrdered } from './ordered-samples.ts';

/** How often x is above y, over all pairs; Mann and Whitney 1947. */
export interface MannWhitney {
  /** U = #{x > y} + #{x = y} / 2. */
  readonly u: number;
  /** P(x > y) + P(x = y) / 2, from 0 to 1; 0.5 = neither is above the other. The area under the ROC curve. */
  readonly a: number;
  /** Cliff's delta 2a - 1, from -1 to 1. */
  readonly cliffsDelta: number;
  /** p values by the normal approximation, with correction for ties and continuity. */
  readonly pTwoSided: number;
  /** Against the alternative that x is stochastically smaller. */
  readonly pLess: number;
  /** Against the alternative that x is stochastically larger. */
  readonly pGreater: number;
}

/**
 * Mann-Whitney U of two independent samples. Takes n log n time.
 *
 * @throws RangeError if a sample is empty
 */
export function mannWhitney(x: ArrayLike<number>, y: ArrayLike<number>): MannWhitney {
  requireSamples(x, y);
  const n = x.length;
  const m = y.length;
  let doubledU = 0;
  let tieSum = 0;
  let belowX = 0;
  let belowY = 0;
  visitOrdered(x, y, (_value, atOrBelowX, atOrBelowY) => {
    doubledU += (atOrBelowX - belowX) * (belowY + atOrBelowY);
    const tied = atOrBelowX - belowX + atOrBelowY - belowY;
    tieSum += tied ** 3 - tied;
    belowX = atOrBelowX;
    belowY = atOrBelowY;
  });
  const u = doubledU / 2;
  const mean = (n * m) / 2;
  const total = n + m;
  const deviation = Math.sqrt(((n * m) / 12) * (total + 1 - tieSum / (total * (total - 1))));
  const pAbove = (value: number): number => normalCdf(-(value - mean - 0.5) / deviation);
  return {
    u,
    a: u / (n * m),
    cliffsDelta: (2 * u) / (n * m) - 1,
    pTwoSided: Math.min(1, 2 * pAbove(Math.max(u, n * m - u))),
    pLess: pAbove(n * m - u),
    pGreater: pAbove(u),
  };
}

/**
 * The exact two-sided p value of U among samples without ties: twice the smaller tail of the permutation distribution,
 * at most 1. Takes (n m)^2 steps, so it is for samples of some dozens.
 *
 * @param u of samples without ties, hence a whole number
 */
export function exactMannWhitneyP(u: number, n: number, m: number): number {
  const largest = n * m;
  const chances = chancesOfU(n, m);
  let tail = 0;
  for (let value = Math.max(u, largest - u); value <= largest; value++) tail += chances[value] ?? 0;
  return Math.min(1, 2 * tail);
}

/** P(U = u) for u from 0 to n m: the largest of all values is one of x with n / (n + m) and then exceeds all of y. */
function chancesOfU(n: number, m: number): Float64Array {
  let shorter = Array.from({ length: m + 1 }, () => Float64Array.of(1));
  for (let i = 1; i <= n; i++) {
    const longer = [Float64Array.of(1)];
    for (let j = 1; j <= m; j++) {
      const chances = new Float64Array(i * j + 1);
      shorter[j]?.forEach((chance, value) => {
        chances[value + j] = (i / (i + j)) * chance;
      });
      longer[j - 1]?.forEach((chance, value) => {
        chances[value] = (chances[value] ?? 0) + (j / (i + j)) * chance;
      });
      longer.push(chances);
    }
    shorter = longer;
  }
  return shorter[m] ?? Float64Array.of(1);
}
