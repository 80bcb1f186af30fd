/** Paired tests (Student's t, McNemar's exact test), the t test's power and sample size, and adjusted p-values. */
import { moments } from './descriptive.ts';
import {
  binomialUpperTail,
  bisect,
  firstWhere,
  normalCdf,
  normalQuantile,
  studentTCdf,
  studentTQuantile,
} from './distributions.ts';

export interface PairedT {
  readonly n: number;
  readonly mean: number;
  /** Standard deviation of the differences, with n - 1 in the denominator; 0 for one difference. */
  readonly standardDeviation: number;
  /** Degrees of freedom, n - 1. */
  readonly df: number;
  /** mean / (sd / sqrt n); null if the differences have no spread and are not zero. */
  readonly t: number | null;
  /** Two-sided. */
  readonly p: number;
  /** One-sided p-value under the null hypothesis that the mean is not below zero. */
  readonly pDrop: number;
  /** One-sided p-value under the null hypothesis that the mean is not above zero. */
  readonly pGain: number;
}

/** A spread below this share of the largest difference is due to rounding. */
const ROUNDING = 1e-12;

/**
 * The paired t test, Student 1908: t = mean(d) / (sd(d) / sqrt(n)) with n - 1 degrees of freedom.
 *
 * No value is NaN, even if t is undefined:
 * - every difference is 0: t = 0 and every p = 1;
 * - one difference that is not 0: t is null and every p = 1, because one difference contains no information about the
 *   spread;
 * - several equal differences that are not 0: t is null, and each p is 0 or 1, its limit as the spread approaches 0.
 *
 * @param differences one per query, including zeros
 * @throws RangeError if there are no differences
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

/**
 * McNemar's exact test (1947) for paired yes or no outcomes: among the queries that changed, losses and gains are
 * equally likely under the null hypothesis. The test is equivalent to the sign-flip test on the differences. A p below
 * the smallest positive number is rounded up to this number.
 *
 * @param lost number of queries with a hit only in the baseline
 * @param gained number of queries with a hit only in the candidate
 */
export function mcnemarExact(lost: number, gained: number) {
  const n = lost + gained;
  if (n === 0) return { p: 1, pDrop: 1 };
  const more = Math.max(lost, gained);
  const tail = binomialUpperTail(more, n, 0.5);
  return {
    /** Two-sided. */
    p: Math.max(Number.MIN_VALUE, Math.min(1, 2 * tail)),
    /** One-sided p-value under the null hypothesis that losses are not more likely than gains. */
    pDrop: binomialUpperTail(lost, n, 0.5),
  };
}

/** Exponent at which further terms are negligible, because the density has dropped to e^-45 of its peak. */
const NEGLIGIBLE = 45;

/**
 * P(T > t) of the noncentral t distribution, T = (Z + noncentrality) / S with S^2 = chi^2(df) / df, to about 1e-12.
 *
 * P(T > t) is the mean of Phi(noncentrality - t S) over S (Owen 1965). The mean is integrated over x = ln S by the
 * trapezoidal rule, which converges exponentially because the integrand decays on both sides (Trefethen and Weideman
 * 2014).
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

/** Returns how far the log density of ln S at x is below its maximum at x = 0: df/2 (e^(2x) - 1 - 2x). */
function fallAt(x: number, df: number): number {
  return (df / 2) * (Math.expm1(2 * x) - 2 * x);
}

export interface TestPlan {
  /** Significance level of the test, in (0, 1). */
  readonly alpha: number;
  readonly sided: 1 | 2;
  /** Probability of detecting a true difference, in (alpha, 1). */
  readonly power: number;
}

/**
 * Probability that the paired t test detects a true mean difference, by the noncentral t distribution (Cohen 1988,
 * 2.5).
 *
 * @param effect the mean difference in standard deviations of the differences, >= 0
 * @param n number of pairs, >= 2
 */
export function pairedTPower(effect: number, n: number, { alpha, sided }: Omit<TestPlan, 'power'>): number {
  const df = n - 1;
  const critical = -studentTQuantile(alpha / sided, df);
  const noncentrality = effect * Math.sqrt(n);
  const found = noncentralTUpperTail(critical, df, noncentrality);
  return sided === 1 ? found : found + 1 - noncentralTUpperTail(-critical, df, noncentrality);
}

/**
 * Minimum number of pairs for the paired t test to detect a mean difference with the planned power, at least 2.
 *
 * @param difference the true mean difference, > 0
 * @param standardDeviation of the differences, >= 0
 */
export function pairedTSampleSize(difference: number, standardDeviation: number, plan: TestPlan): number {
  if (standardDeviation === 0) return 2;
  const effect = difference / standardDeviation;
  const isEnough = (n: number): boolean => pairedTPower(effect, n, plan) >= plan.power;
  let [from, enough] = [2, Math.max(2, Math.ceil((normalReach(plan) / effect) ** 2))];
  while (!isEnough(enough)) [from, enough] = [enough + 1, 2 * enough];
  return firstWhere(from, enough, isEnough);
}

/**
 * Smallest mean difference that the paired t test detects with the planned power. For many pairs and the usual plan
 * (two-sided alpha 0.05, power 0.8), the difference is 2.8 sd / sqrt(n). Null for one pair, because a single pair
 * cannot detect any difference.
 *
 * @param standardDeviation of the differences, >= 0; if it is 0, every difference is detected, so the result is 0
 * @param n number of pairs, >= 1
 */
export function smallestDetectableDifference(standardDeviation: number, n: number, plan: TestPlan): number | null {
  if (n < 2) return null;
  if (standardDeviation === 0) return 0;
  if (lastEffect?.n !== n || !isSamePlan(lastEffect.plan, plan)) {
    lastEffect = { n, plan: { ...plan }, effect: smallestDetectableEffect(n, plan) };
  }
  return lastEffect.effect * standardDeviation;
}

/** Caches the last result, because the search is slow, and all metrics of a run have the same number of pairs. */
let lastEffect: { readonly n: number; readonly plan: TestPlan; readonly effect: number } | null = null;

function isSamePlan(a: TestPlan, b: TestPlan): boolean {
  return a.alpha === b.alpha && a.sided === b.sided && a.power === b.power;
}

/** Smallest detectable mean difference, in standard deviations of the differences. */
function smallestDetectableEffect(n: number, plan: TestPlan): number {
  let tooSmall = 0;
  let enough = normalReach(plan) / Math.sqrt(n);
  while (pairedTPower(enough, n, plan) < plan.power) [tooSmall, enough] = [enough, 2 * enough];
  return bisect(tooSmall, enough, (effect) => pairedTPower(effect, n, plan) >= plan.power, 1e-12);
}

/** The required effect times sqrt(n), for many pairs: z(1 - alpha / sided) + z(power). */
function normalReach({ alpha, sided, power }: TestPlan): number {
  return normalQuantile(1 - alpha / sided) + normalQuantile(power);
}

/**
 * Holm's step-down adjustment (1979): the i-th smallest of m p-values (i from 1) times (m - i + 1), never below the
 * adjusted value of a smaller p, and at most 1. If the hypotheses whose adjusted p is below alpha are rejected, the
 * probability of any false rejection is at most alpha, regardless of how the tests depend on each other.
 *
 * @param p p-values in [0, 1]
 */
export function holm(p: readonly number[]): number[] {
  const order = p.map((_, index) => index).toSorted((a, b) => (p[a] ?? 0) - (p[b] ?? 0) || a - b);
  const adjusted = p.map(() => 1);
  let largest = 0;
  for (const [step, index] of order.entries()) {
    largest = Math.max(largest, (p[index] ?? 1) * (p.length - step));
    adjusted[index] = Math.min(1, largest);
  }
  return adjusted;
}
