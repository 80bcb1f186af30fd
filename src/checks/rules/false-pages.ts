/** How many pages the checks of a config make in 90 days in which nothing is wrong. */

import { DAY_MS } from '../../core/time.ts';
import type { FalsePageBudget } from '../../density/rules/alert.ts';
import { normalCdf, normalMean, normalQuantile } from '../../math/stats/distributions.ts';
import type { RegressionCheck } from './regression.ts';

/** What false pages are counted in. */
export const COUNTED_DAYS = 90;

export const COUNTED_MS = COUNTED_DAYS * DAY_MS;
/** Standard errors from a value to the end of its 95 % interval. */
const HALF_WIDTH = normalQuantile(0.975);
/** A check with enough room makes at most this many false pages in 90 days. */
export const NEXT_TO_NONE = 0.01;

export interface CheckExpectation {
  readonly name: string;
  /** Measurements that are judged in 90 days; null where their number does not matter. */
  readonly looks: number | null;
  /** False pages in 90 days; null when nobody can tell. */
  readonly expected: number | null;
  /** The assumption behind the number, such as `while the usual score ...`; empty when there is none. */
  readonly proviso: string;
  /** What would lower the number, other than making the check a warning; empty when there is nothing to lower. */
  readonly remedy: string;
}

export interface PipelineExpectation {
  readonly pipeline: string;
  /** The checks that page, which are the critical ones. */
  readonly checks: readonly CheckExpectation[];
  /** Sum of what is known. */
  readonly expected: number;
  readonly accepted: number;
}

/**
 * Expected number of times that a regression check turns critical in `looks` runs of an unchanged, noisy retriever
 * after one baseline. Retrievers that always answer the same make none.
 *
 * Runs are not independent looks: each is compared with the same baseline, and a baseline that was high by luck makes
 * every run look like a fall. Let run x and baseline b be standard normal, and z the alpha quantile. A run is called a
 * fall when x <= b + sqrt(2) z. Given b, the runs are then independent, each is called with probability
 * p(b) = Phi(b + sqrt(2) z), and any two comparisons have a correlation of 1/2. The check turns critical after `runs`
 * calls in a row and stays so until as many runs in a row are not called; how often that is expected to happen is played
 * run by run for each b, and averaged over b.
 *
 * The number is too high where the noise is smaller than `drop`, since such noise makes no call, and where ten reruns
 * or more measured the noise, since runs are then judged by its upper bound. Fewer than ten reruns know the noise too
 * badly for the test to keep its level. Whatever the dependence, the number is at most looks * alpha / runs, since
 * each page uses up `runs` calls of its own.
 *
 * @param looks number of golden runs that are judged, >= 0
 */
export function falseRegressions({ alpha, runs }: Pick<RegressionCheck, 'alpha' | 'runs'>, looks: number): number {
  if (looks < runs) return 0;
  const critical = Math.SQRT2 * normalQuantile(alpha);
  return normalMean((baseline) => expectedPages(normalCdf(baseline + critical), runs, looks));
}

/** How often `runs` calls in a row are expected while it is not critical, when each look is called with probability p. */
function expectedPages(p: number, runs: number, looks: number): number {
  // By how many calls in a row have come while it is well, and how many looks without while it is critical.
  const well = new Float64Array(runs);
  const critical = new Float64Array(runs);
  well[0] = 1;
  let [isWell, pages] = [1, 0];
  for (let look = 0; look < looks; look++) {
    const fell = shift(well, p);
    const rose = shift(critical, 1 - p);
    well[0] = isWell * (1 - p) + rose;
    critical[0] = (1 - isWell) * p + fell;
    isWell += rose - fell;
    pages += fell;
  }
  return pages;
}

/** Moves every share on by one, as likely as that is. @returns what moved out at the end */
function shift(shares: Float64Array, likely: number): number {
  const out = (shares.at(-1) ?? 0) * likely;
  for (let i = shares.length - 1; i > 0; i--) shares[i] = (shares[i - 1] ?? 0) * likely;
  return out;
}

/** How often a bound is held against a threshold. */
export interface BoundedEvaluations {
  /** Measurements that are judged, >= 0. */
  readonly looks: number;
  /** Measurements in a row that must show a breach; 1 for floors of golden measures. */
  readonly confirm: number;
  /** Values that one look judges by a 95 % interval each; 1 where the intervals hold for all values together. */
  readonly values: number;
}

/**
 * Most times that a check on a confidence bound turns critical while nothing is wrong: the usual value stays on the
 * good side of the threshold by `room` half-widths of its 95 % interval. One look is beyond the threshold with
 * probability Phi(-1.96 (1 + room)), which is 2.5 % without any room.
 *
 * Looks may depend on each other in any way (windows overlap, one set is asked again and again): each page uses up
 * `confirm` looks of its own, so there are at most looks / confirm chances for one. Hysteresis only lowers the number,
 * and a breach that stands before and after a gap is one page. Noise that all queries of a look share is neither in the
 * interval nor in this number.
 *
 * @param room >= 0
 */
export function falseBreaches({ looks, confirm, values }: BoundedEvaluations, room: number): number {
  return ((looks * values) / confirm) * normalCdf(-HALF_WIDTH * (1 + room));
}

/** Least room, in half-widths of the 95 % interval, with which `falseBreaches` is at most `NEXT_TO_NONE`. */
export function roomNeeded({ looks, confirm, values }: BoundedEvaluations): number {
  if (looks === 0) return 0;
  const perLook = Math.min(0.5, (NEXT_TO_NONE * confirm) / (looks * values));
  return Math.max(0, -normalQuantile(perLook) / HALF_WIDTH - 1);
}

/**
 * False pages that the budget accepts in a span of that length. The alarms of query density are calibrated to their
 * budget, however often one looks.
 */
export function acceptedFalsePages({ count, periodMs }: FalsePageBudget, spanMs: number): number {
  return (count * spanMs) / periodMs;
}
