/** Power, sample size and smallest detectable difference of the paired t test. */
import { noncentralTUpperTail } from './noncentral-t.ts';
import { normalQuantile } from './normal.ts';
import { studentTQuantile } from './student-t.ts';

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
export function smallestDetectableDifference(
  standardDeviation: number,
  n: number,
  plan: TestPlan,
): number | null {
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
