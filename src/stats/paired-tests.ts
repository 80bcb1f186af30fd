/** Tests of paired values: Student's t, and the exact one of McNemar for hits. */
import { moments } from './descriptive.ts';
import { binomialUpperTail, studentTCdf } from './distributions.ts';

/** Student's t test of paired differences against a mean of zero. */
export interface PairedT {
  readonly n: number;
  readonly mean: number;
  /** Of the differences, with n - 1 in the denominator; 0 for one difference. */
  readonly standardDeviation: number;
  /** n - 1. */
  readonly df: number;
  /** mean / (sd / sqrt n); null when the differences have no spread and are not zero. */
  readonly t: number | null;
  /** Two-sided. */
  readonly p: number;
  /** One-sided, against a mean that is not below zero. */
  readonly pDrop: number;
  /** One-sided, against a mean that is not above zero. */
  readonly pGain: number;
}

/** A spread below this share of the largest difference is rounding. */
const ROUNDING = 1e-12;

/**
 * The paired t test, Student 1908: t = mean(d) / (sd(d) / sqrt(n)) with n - 1 degrees of freedom.
 *
 * Where t is not defined, no value is NaN:
 * - every difference is 0: t = 0 and every p = 1;
 * - one difference that is not 0: t is null and every p = 1, because one tells nothing of the spread;
 * - several equal ones that are not 0: t is null, and each p is its limit as the spread goes to 0, 0 or 1.
 *
 * @param differences one per query, those of 0 included
 * @throws RangeError without differences
 */
export function pairedT(differences: ArrayLike<number>): PairedT {
  const n = differences.length;
  const { mean, standardDeviation } = moments(differences);
  const df = n - 1;
  const isFlat = standardDeviation <= ROUNDING * Math.abs(mean);
  const base = { n, mean, standardDeviation: isFlat ? 0 : standardDeviation, df };
  if (isFlat && mean === 0) return { ...base, t: 0, p: 1, pDrop: 1, pGain: 1 };
  if (n === 1) return { ...base, t: null, p: 1, pDrop: 1, pGain: 1 };
  if (isFlat) return { ...base, t: null, p: 0, pDrop: mean < 0 ? 0 : 1, pGain: mean < 0 ? 1 : 0 };
  const t = mean / (standardDeviation / Math.sqrt(n));
  return {
    ...base,
    t,
    p: 2 * studentTCdf(-Math.abs(t), df),
    pDrop: studentTCdf(t, df),
    pGain: studentTCdf(-t, df),
  };
}

interface McNemar {
  /** Two-sided. */
  readonly p: number;
  /** One-sided, against losses that are not more likely than gains. */
  readonly pDrop: number;
}

/**
 * The exact test of McNemar 1947 for paired yes or no outcomes: among the queries that changed, losses and gains are
 * equally likely. It equals the sign-flip test on their differences. A p smaller than any number above 0
 * comes as the least of them.
 *
 * @param lost queries that only the baseline hit
 * @param gained queries that only the candidate hit
 */
export function mcnemarExact(lost: number, gained: number): McNemar {
  const n = lost + gained;
  if (n === 0) return { p: 1, pDrop: 1 };
  const more = Math.max(lost, gained);
  const tail = binomialUpperTail(more, n, 0.5);
  return {
    p: Math.max(Number.MIN_VALUE, Math.min(1, 2 * tail)),
    pDrop: binomialUpperTail(lost, n, 0.5),
  };
}
