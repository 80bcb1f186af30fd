/** Expected number of false pages: pages that the configured checks cause in 90 days although nothing is wrong. */

import { DAY_MS } from '../../core/time.ts';
import type { FalsePageBudget } from '../../density/rules/alert.ts';
import { normalCdf, normalMean, normalQuantile } from '../../math/stats/distributions.ts';

export const COUNTED_DAYS = 90;

export const COUNTED_MS = COUNTED_DAYS * DAY_MS;
/** Half-width of a 95 % interval, in standard errors. */
const HALF_WIDTH = normalQuantile(0.975);
/** Maximum expected number of false pages in 90 days from a check whose margin is large enough. */
export const NEXT_TO_NONE = 0.01;

export interface CheckExpectation {
  readonly name: string;
  /** Number of evaluations in 90 days; null if `expected` does not depend on this number. */
  readonly evaluations: number | null;
  /** Expected number of false pages in 90 days; null if unknown. */
  readonly expected: number | null;
  /** Condition under which `expected` is valid, such as `as long as the usual score ...`; empty if there is none. */
  readonly assumption: string;
  /** How to lower `expected` without downgrading the check to a warning; empty if `expected` is 0. */
  readonly fix: string;
}

export interface PipelineExpectation {
  readonly pipeline: string;
  /** Critical checks; other checks do not page. */
  readonly checks: readonly CheckExpectation[];
  /** Sum of the expected false pages of all checks; an unknown number counts as 0. */
  readonly expected: number;
  readonly accepted: number;
}

/**
 * Returns how often a regression check is expected to become critical in `evaluations` runs that are compared with one
 * baseline, if the retriever is noisy and does not change. A deterministic retriever causes no false pages.
 *
 * Runs are not independent: each is compared with the same baseline, and a baseline score that is high by chance makes
 * every run look like a drop. Let x be the score of a run, b the score of the baseline, and z the alpha quantile; x and
 * b are standard normal. A run shows a significant drop if x <= b + sqrt(2) z. Given b, the runs are independent, and
 * each shows a significant drop with probability p(b) = Phi(b + sqrt(2) z). If b is not given, any two comparisons have
 * a correlation of 1/2. The check becomes critical after `runs` consecutive runs with a significant drop, and stays
 * critical until the same number of consecutive runs show none. The expected number of changes to critical is computed
 * run by run for each b, and averaged over b.
 *
 * The number is too high if the noise is smaller than `drop`, because such noise never fails the check. The number is
 * also too high if the noise was measured with ten or more reruns, because runs are then compared with the upper bound
 * of the noise. With fewer than ten reruns, the noise estimate is too imprecise for the test to keep its significance
 * level. However the runs depend on each other, the number is at most evaluations * alpha / runs: each page needs
 * `runs` significant runs, and no two pages share a run.
 *
 * @param evaluations number of evaluated golden runs, >= 0
 */
export function falseRegressions(
  { alpha, runs }: { readonly alpha: number; readonly runs: number },
  evaluations: number,
): number {
  if (evaluations < runs) return 0;
  const critical = Math.SQRT2 * normalQuantile(alpha);
  return normalMean((baseline) => expectedPages(normalCdf(baseline + critical), runs, evaluations));
}

/**
 * Returns the expected number of times that the verdict becomes critical, if each evaluation is significant with
 * probability p.
 */
function expectedPages(p: number, runs: number, evaluations: number): number {
  // `ok[i]` is the probability that the verdict is OK and the last i runs show a significant drop.
  // `critical[i]` is the probability that the verdict is critical and the last i runs show no significant drop.
  const ok = new Float64Array(runs);
  const critical = new Float64Array(runs);
  ok[0] = 1;
  let [isOk, pages] = [1, 0];
  for (let evaluation = 0; evaluation < evaluations; evaluation++) {
    const failed = shift(ok, p);
    const recovered = shift(critical, 1 - p);
    ok[0] = isOk * (1 - p) + recovered;
    critical[0] = (1 - isOk) * p + failed;
    isOk += recovered - failed;
    pages += failed;
  }
  return pages;
}

/**
 * Moves every probability up by one place and multiplies it by `likely`.
 *
 * @returns the probability that is moved out of the last place
 */
function shift(shares: Float64Array, likely: number): number {
  const out = (shares.at(-1) ?? 0) * likely;
  for (let i = shares.length - 1; i > 0; i--) shares[i] = (shares[i - 1] ?? 0) * likely;
  return out;
}

/** Describes how often confidence bounds are compared with a threshold. */
export interface BoundedEvaluations {
  readonly evaluations: number;
  /** Number of consecutive measurements that must show a breach; 1 for golden scores. */
  readonly confirm: number;
  /**
   * Number of values in one evaluation that each have their own 95 % interval; 1 if the intervals hold jointly for all
   * values.
   */
  readonly values: number;
}

/**
 * Returns the maximum expected number of times that a check on a confidence bound becomes critical although nothing is
 * wrong. The usual value is better than the threshold by `margin` half-widths of its 95 % interval. One evaluation is
 * beyond the threshold with probability Phi(-1.96 (1 + margin)), which is 2.5 % without a margin.
 *
 * Evaluations may depend on each other in any way (windows overlap, a golden set runs repeatedly). No two pages share
 * an evaluation, and each page needs `confirm` evaluations, so there are at most evaluations / confirm chances for a
 * page. Hysteresis can only lower the number, and a breach that continues after a gap in the data counts as one page.
 * Neither the interval nor the returned number includes noise that all queries of an evaluation share.
 *
 * @param margin >= 0
 */
export function falseBreaches({ evaluations, confirm, values }: BoundedEvaluations, margin: number): number {
  return ((evaluations * values) / confirm) * normalCdf(-HALF_WIDTH * (1 + margin));
}

/**
 * Returns the minimum margin, in half-widths of the 95 % interval, at which `falseBreaches` is at most `NEXT_TO_NONE`.
 */
export function marginNeeded({ evaluations, confirm, values }: BoundedEvaluations): number {
  if (evaluations === 0) return 0;
  const perEvaluation = Math.min(0.5, (NEXT_TO_NONE * confirm) / (evaluations * values));
  return Math.max(0, -normalQuantile(perEvaluation) / HALF_WIDTH - 1);
}

/** Returns the number of false pages that a budget allows in a time span of this length. */
export function acceptedFalsePages({ count, periodMs }: FalsePageBudget, spanMs: number): number {
  return (count * spanMs) / periodMs;
}
