import { chiSquareTail } from '../../stats/chi-square.ts';

/** How two lists of counts over the same categories differ, for example sessions per region. */
export interface ShareDivergence {
  /** Jensen-Shannon divergence with base 2, from 0 to 1 bit. */
  readonly jensenShannonBits: number;
  /** Its square root, a metric. */
  readonly jensenShannonDistance: number;
  /** Half the sum of |p - q|, from 0 to 1: the share that would have to move. */
  readonly totalVariation: number;
  /** Pearson's statistic of the 2 x K table, without continuity correction. */
  readonly chiSquare: number;
  /** Categories that occur, less one. */
  readonly df: number;
  /** P(chi-square >= observed) if both lists come from the same shares; 1 with a single category. */
  readonly p: number;
  /** sqrt(chiSquare / total count), from 0 to 1. */
  readonly cramersV: number;
}

/**
 * Divergence of two lists of counts.
 *
 * @param current counts >= 0, one per category
 * @param baseline the same categories in the same order
 * @throws RangeError if the lists differ in length or one counts nothing
 */
export function shareDivergence(current: ArrayLike<number>, baseline: ArrayLike<number>): ShareDivergence {
  const n = sumOf(current);
  const m = sumOf(baseline);
  if (current.length !== baseline.length || !(n > 0) || !(m > 0)) {
    throw new RangeError('Both lists must count something, over the same categories.');
  }
  let jensenShannonBits = 0;
  let totalVariation = 0;
  let chiSquare = 0;
  let df = -1;
  for (let i = 0; i < current.length; i++) {
    const inCurrent = current[i] ?? 0;
    const inBaseline = baseline[i] ?? 0;
    if (inCurrent + inBaseline === 0) continue;
    df++;
    const p = inCurrent / n;
    const q = inBaseline / m;
    jensenShannonBits += (logRatioTerm(p, q) + logRatioTerm(q, p)) / 2;
    totalVariation += Math.abs(p - q) / 2;
    // (O - E)^2 / E of the two cells of this column, brought together.
    chiSquare += (n * m * (p - q) ** 2) / (inCurrent + inBaseline);
  }
  jensenShannonBits = Math.max(0, jensenShannonBits);
  return {
    jensenShannonBits,
    jensenShannonDistance: Math.sqrt(jensenShannonBits),
    totalVariation,
    chiSquare,
    df,
    p: df === 0 ? 1 : chiSquareTail(chiSquare, df),
    cramersV: Math.sqrt(chiSquare / (n + m)),
  };
}

/** p log2(p / mean of p and q). */
function logRatioTerm(p: number, q: number): number {
  return p === 0 ? 0 : p * Math.log2((2 * p) / (p + q));
}

function sumOf(counts: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < counts.length; i++) sum += counts[i] ?? 0;
  return sum;
}
