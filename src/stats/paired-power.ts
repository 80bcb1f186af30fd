/** Power, sample size and smallest detectable difference of the paired t test. */
import { normalCdf, normalQuantile, studentTQuantile } from './distributions.ts';

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

export interface TestPlan {
  /** Level of the test, in (0, 1). */
  readonly alpha: number;
  readonly sided: 1 | 2;
  /** Chance to find a difference that is there, in (alpha, 1). */
  readonly power: number;
}

/**
 * Chance that the paired t test finds a true mean difference, by the noncentral t distribution (Cohen 1988, 2.5).
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
 * Least number of pairs with which the paired t test finds a mean difference with the planned power, at least 2.
 *
 * @param difference the true mean difference, > 0
 * @param standardDeviation of the differences, >= 0
 */
export function pairedTSampleSize(difference: number, standardDeviation: number, plan: TestPlan): number {
  if (standardDeviation === 0) return 2;
  const effect = difference / standardDeviation;
  const isEnough = (n: number): boolean => pairedTPower(effect, n, plan) >= plan.power;
  let tooFew = 1;
  let enough = Math.max(2, Math.ceil((normalReach(plan) / effect) ** 2));
  while (!isEnough(enough)) [tooFew, enough] = [enough, 2 * enough];
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (isEnough(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

/**
 * The mean difference that the paired t test finds with the planned power; for many pairs and the usual plan (alpha
 * 0.05 on two sides, power 0.8) 2.8 sd / sqrt(n). Null for one pair, with which nothing can be found.
 *
 * @param standardDeviation of the differences, >= 0; without any spread every difference is found, so that it is 0
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

/** All metrics of a run have the same number of pairs, and each search takes as long as a bootstrap. */
let lastEffect: { readonly n: number; readonly plan: TestPlan; readonly effect: number } | null = null;

function isSamePlan(a: TestPlan, b: TestPlan): boolean {
  return a.alpha === b.alpha && a.sided === b.sided && a.power === b.power;
}

/** In standard deviations of the differences. */
function smallestDetectableEffect(n: number, plan: TestPlan): number {
  let tooSmall = 0;
  let enough = normalReach(plan) / Math.sqrt(n);
  while (pairedTPower(enough, n, plan) < plan.power) [tooSmall, enough] = [enough, 2 * enough];
  while (enough - tooSmall > 1e-12 * enough) {
    const middle = (tooSmall + enough) / 2;
    if (middle === tooSmall || middle === enough) break;
    if (pairedTPower(middle, n, plan) < plan.power) tooSmall = middle;
    else enough = middle;
  }
  return enough;
}

/** z(1 - alpha / sided) + z(power): the effect times sqrt(n) that many pairs need. */
function normalReach({ alpha, sided, power }: TestPlan): number {
  return normalQuantile(1 - alpha / sided) + normalQuantile(power);
}
