/** Check for a drop in a golden measure relative to its pinned baseline. */

import { decimal, interval, plural, probability, signed } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import type { MetricComparison } from '../../golden/rules/compare-metric.ts';
import {
  type ComparedRun,
  classifyDifference,
  confirmRegression,
  isOneSided,
  storedComparison,
  testPlan,
} from '../../golden/rules/verdict.ts';
import { formatMetricKey, parseMetricKey } from '../../math/ir/metric-key.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import {
  type AnyCheck,
  type CheckOutcome,
  type CheckResult,
  type CheckShift,
  isBreach,
  NO_SHIFT,
  NO_VALUE,
} from './threshold.ts';

export interface RegressionCheck extends AnyCheck {
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  /** Smallest relevant drop, at least 0. */
  readonly drop: number;
  /** Significance level of the one-sided test: the probability that a single run shows a drop by chance alone. */
  readonly alpha: number;
  /**
   * Number of consecutive runs with the drop after which the check fails; the check passes again after as many runs
   * without the drop.
   */
  readonly runs: number;
}

/**
 * Multiple of the configured drop. A check that cannot detect even a drop of this size is blind: its OK verdict means
 * little.
 */
const BLIND_FROM = 2;

/**
 * Returns the smallest drop that a check detects in one run with 80 % power. Uses normal quantiles to rescale the
 * comparison's smallest detectable drop to the significance level of the check. The result is at least the configured
 * drop.
 *
 * @returns null if the comparison has no smallest detectable drop
 */
function detectableBy(
  { alpha, drop }: RegressionCheck,
  { smallestDetectableDifference }: BaselineDifference,
): number | null {
  if (smallestDetectableDifference === null) return null;
  const { alpha: level, sided, power } = testPlan(storedComparison);
  const reach = (tail: number): number => normalQuantile(1 - tail) + normalQuantile(power);
  return Math.max(drop, (smallestDetectableDifference * reach(alpha)) / reach(level / sided));
}

/**
 * Returns true if a regression check passes although it could not even detect a drop of twice the configured size.
 *
 * @param check `threshold` is the negated drop
 */
export function isBlind(check: Pick<CheckResult, 'verdict' | 'threshold' | 'smallestDetectableDrop'>): boolean {
  return check.verdict === 'ok' && (check.smallestDetectableDrop ?? 0) > BLIND_FROM * Math.abs(check.threshold);
}

type Compared = 'key' | 'n' | 'difference' | 'ciLow' | 'ciHigh' | 'ciMethod' | 'p' | 'wins' | 'losses';

/** Comparison of a run with the baseline over queries whose judgments are up to date. */
export type BaselineDifference = Pick<MetricComparison, Compared | 'smallestDetectableDifference'>;

export interface ComparedWithBaseline {
  readonly runId: string;
  readonly baselineRunId: string;
  /** Differences over all queries, one per metric. */
  readonly metrics: readonly BaselineDifference[];
}

/**
 * Evaluates a drop relative to the baseline. A regression is a drop of at least `drop` that is significant at `alpha`
 * in `runs` consecutive runs against the same baseline. A regression is resolved when the same number of consecutive
 * runs show no drop. An index rebuild that fails every other night thus causes a single incident. Without a baseline,
 * or without queries to compare, the verdict is `no_data`.
 *
 * @param current the evaluated run, or a sentence that explains why it could not be compared
 * @param history completed runs before `current`, oldest first
 * @param shift correction of the minimum drop for new versions of the golden set
 * @param previous verdict of the check on the latest run in `history`; null if there is none
 */
export function evaluateRegression(
  configured: RegressionCheck,
  current: ComparedWithBaseline | string,
  history: readonly ComparedWithBaseline[],
  shift: CheckShift = NO_SHIFT,
  previous: Verdict | null = null,
): CheckOutcome {
  const check = { ...configured, drop: configured.drop - shift.mean };
  const noData = { ...NO_VALUE, verdict: 'no_data', isBeyond: false } as const;
  if (typeof current === 'string') return { ...noData, explanation: current };
  const found = differenceOn(check, current);
  if (found === null) {
    const explanation = `The baseline ${current.baselineRunId} has no ${check.measure}; pin a run that has this score.`;
    return { ...noData, explanation };
  }
  const runs = [...history, current].flatMap((run): ComparedRun[] => {
    const difference = differenceOn(check, run);
    if (difference === null) return [];
    const { runId, baselineRunId } = run;
    return [{ runId, baselineRunId, verdict: verdictOn(check, difference) }];
  });
  const confirmation = confirmRegression(runs, check.runs);
  const ofSet = `; of this difference, ${decimal(-shift.mean)} comes from the new version of the golden set and does not count`;
  const numbers = `${describe(found)}${shift.mean === 0 ? '' : ofSet}`;
  const { difference: value, ciLow, ciHigh, n } = found;
  const smallestDetectableDrop = detectableBy(check, found);
  const measured = { value, ciLow, ciHigh, n, smallestDetectableDrop, isBeyond: isRegression(check, found) };
  if (confirmation?.verdict === 'regression') {
    const runsInARow = check.runs === 1 ? '' : ` in ${confirmation.consecutive} consecutive runs`;
    const explanation = `${numbers}: a drop of ${decimal(check.drop)} or more${runsInARow}.`;
    return { ...measured, verdict: check.severity, explanation };
  }
  const good = goodRuns(runs);
  if (isBreach(previous) && history.at(-1)?.baselineRunId === current.baselineRunId && good < check.runs) {
    const progress = good === 0 ? 'another drop' : `no drop in ${plural(good, 'run')}`;
    return {
      ...measured,
      verdict: check.severity,
      explanation: `${numbers}: ${progress}, not resolved yet (${plural(check.runs, 'consecutive run')} without a drop required).`,
    };
  }
  if (confirmation?.verdict === 'unconfirmed_regression') {
    const explanation = `${numbers}: a drop in ${plural(confirmation.consecutive, 'run')}, not confirmed yet (${check.runs} consecutive runs required).`;
    return { ...measured, verdict: 'ok', explanation };
  }
  const shown = isOneSided(found, 2 * check.alpha)
    ? `more queries got ${found.losses > found.wins ? 'worse than got better, but' : 'better than got worse, and'} the mean did not drop by ${decimal(check.drop)}`
    : 'no relevant drop';
  return {
    ...measured,
    verdict: 'ok',
    explanation: `${numbers}: ${shown}.${powerOf(smallestDetectableDrop, check.drop)}`,
  };
}

function powerOf(smallest: number | null, drop: number): string {
  if (smallest === null || smallest <= drop) return '';
  const detects = `the check can detect only drops of ${decimal(smallest)} or more, but ${decimal(drop)} is configured`;
  return isBlind({ verdict: 'ok', threshold: drop, smallestDetectableDrop: smallest })
    ? ` Blind: ${detects}. Pin a baseline with \`--reruns 9\`, add queries, or raise \`drop\`.`
    : ` Note: ${detects}.`;
}

/** Counts the latest consecutive runs that show no drop relative to the baseline of the last run. */
function goodRuns(runs: readonly ComparedRun[]): number {
  const latest = runs.toReversed();
  const baseline = latest[0]?.baselineRunId;
  const drop = latest.findIndex((run) => run.verdict === 'regression' || run.baselineRunId !== baseline);
  return drop === -1 ? latest.length : drop;
}

/** Returns the difference from the baseline in the measure of a check; null if that measure was not compared. */
export function differenceOn(check: RegressionCheck, run: ComparedWithBaseline): BaselineDifference | null {
  const key = formatMetricKey(parseMetricKey(check.measure));
  return run.metrics.find((metric) => formatMetricKey(metric.key) === key) ?? null;
}

/** Returns true if a single run shows a drop that the check is configured to detect. */
export function isRegression(check: RegressionCheck, found: BaselineDifference): boolean {
  return verdictOn(check, found) === 'regression';
}

function verdictOn(check: RegressionCheck, found: BaselineDifference) {
  // The two-sided test splits its significance level equally between drops and rises.
  const test = { alpha: 2 * check.alpha, minEffect: check.drop };
  return classifyDifference({ ...found, measure: found.key.measure }, test);
}

function describe({ key, difference, ciLow, ciHigh, ciMethod, p, n, wins, losses }: BaselineDifference): string {
  const baseline = ciMethod === 'reruns' ? 'the mean of the baseline runs' : 'the baseline';
  return `${formatMetricKey(key)} ${signed(difference)} against ${baseline} (${interval(ciLow, ciHigh, 'difference')}, ${probability(p)}, n = ${n}, ${wins} better, ${losses} worse)`;
}
