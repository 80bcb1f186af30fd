/** The binomial distribution: the number of successes in `n` independent trials of probability `p`. */
import { firstWhere } from './bisection.ts';
import { incompleteBeta, logBeta } from './incomplete-beta.ts';

/** Outcomes whose probabilities differ by less than this share count as equally likely. */
const EQUALLY_LIKELY = 1 + 1e-7;

/** P(X = successes). */
export function binomialPmf(successes: number, n: number, p: number): number {
  if (successes < 0 || successes > n) return 0;
  if (p <= 0) return successes === 0 ? 1 : 0;
  if (p >= 1) return successes === n ? 1 : 0;
  const logChoices = -Math.log(n + 1) - logBeta(n - successes + 1, successes + 1);
  return Math.exp(logChoices + successes * Math.log(p) + (n - successes) * Math.log1p(-p));
}

/** P(X >= successes), by the incomplete beta function (Abramowitz and Stegun 26.5.24). */
export function binomialUpperTail(successes: number, n: number, p: number): number {
  if (successes <= 0) return 1;
  if (successes > n) return 0;
  return incompleteBeta(p, 1 - p, successes, n - successes + 1);
}

/** P(X <= successes). */
export function binomialLowerTail(successes: number, n: number, p: number): number {
  if (successes < 0) return 0;
  if (successes >= n) return 1;
  return incompleteBeta(1 - p, p, n - successes, successes + 1);
}

/**
 * Exact two-sided p-value: the probability of every outcome that is at most as likely as the one seen, which is the
 * definition of scipy.stats.binomtest. With p = 0.5 it is the sign test. No trial at all gives 1.
 *
 * @param successes whole number in [0, n]
 * @param n whole number of trials
 */
export function binomialTwoSidedP(successes: number, n: number, p = 0.5): number {
  if (n === 0 || successes === n * p) return 1;
  const limit = binomialPmf(successes, n, p) * EQUALLY_LIKELY;
  const isAsRare = (k: number): boolean => binomialPmf(k, n, p) <= limit;
  // On either side of the mean the probabilities fall with the distance, so that a bisection finds where they are low.
  if (successes < n * p) {
    const from = firstWhere(Math.ceil(n * p), n + 1, isAsRare);
    return Math.min(1, binomialLowerTail(successes, n, p) + binomialUpperTail(from, n, p));
  }
  const below = firstWhere(0, Math.floor(n * p) + 1, (k) => !isAsRare(k));
  return Math.min(1, binomialLowerTail(below - 1, n, p) + binomialUpperTail(successes, n, p));
}
