/** The check that a golden measure has not fallen against its pinned baseline. */

import { probability, signed } from '../../core/format.ts';
import type { Severity, Verdict } from '../../core/model.ts';
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
  type CheckOutcome,
  type CheckResult,
  type CheckShift,
  decimals,
  isBreach,
  NO_SHIFT,
  NO_VALUE,
} from './threshold.ts';

export interface RegressionCheck {
  /** Given by the config, so that it stays what it is called when its threshold changes. */
  readonly name?: string | undefined;
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  /** Least fall that matters, >= 0. */
  readonly drop: number;
  /** Level of one side: how often luck alone calls one run a fall. */
  readonly alpha: number;
  readonly severity: Severity;
  /** Runs in a row that must show it, and that must show none before it is over. */
  readonly runs: number;
}

/** A check that cannot see a drop of twice what it watches for says nothing by not failing. */
const BLIND_FROM = 2;

/**
 * Smallest drop that a check finds in one run with a chance of 0.8, at the level of the check: that of the comparison,
 * which is at its own level, rescaled by the normal quantiles of both, and never less than the drop watched for.
 *
 * @returns null where the comparison has none
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
 * True for a regression check that passes although it could not see a drop of twice the size that it watches for.
 *
 * @param check `threshold` is the drop, negated
 */
export function isBlind({
  verdict,
  threshold,
  smallestDetectableDrop = null,
}: Pick<CheckResult, 'verdict' | 'threshold' | 'smallestDetectableDrop'>): boolean {
  return (
    verdict === 'ok' && smallestDetectableDrop !== null && smallestDetectableDrop > BLIND_FROM * Math.abs(threshold)
  );
}

/** A comparison of a run with the baseline over the queries whose labels are alive. */
export type BaselineDifference = Pick<
  MetricComparison,
  | 'key'
  | 'n'
  | 'difference'
  | 'ciLow'
  | 'ciHigh'
  | 'ciMethod'
  | 'p'
  | 'wins'
  | 'losses'
  | 'smallestDetectableDifference'
>;

export interface ComparedWithBaseline {
  readonly runId: string;
  readonly baselineRunId: string;
  /** Over all queries, one per metric. */
  readonly metrics: readonly BaselineDifference[];
}

/**
 * Judges a fall against the baseline: it must be as large as `drop`, significant at `alpha`, and shown by `runs` runs
 * in a row against the same baseline. It is over when as many runs in a row show none, so that an index which is rebuilt
 * well every other night is one incident and no stream of them. Without a baseline, or without a query that both runs can be compared by, the
 * verdict is `no_data`.
 *
 * @param current the run that is judged, or the sentence that says why it could not be compared
 * @param history the completed runs before it, oldest first
 * @param shift by which the least fall moved when new versions of the set took over
 * @param stood the verdict of the check on the latest of these runs; null for none
 */
export function evaluateRegression(
  configured: RegressionCheck,
  current: ComparedWithBaseline | string,
  history: readonly ComparedWithBaseline[],
  shift: CheckShift = NO_SHIFT,
  stood: Verdict | null = null,
): CheckOutcome {
  const check = { ...configured, drop: configured.drop - shift.mean };
  const unjudged = { ...NO_VALUE, verdict: 'no_data', isBeyond: false } as const;
  if (typeof current === 'string') return { ...unjudged, explanation: current };
  const found = differenceOn(check, current);
  if (found === null) {
    const explanation = `${check.measure} was not scored in the baseline ${current.baselineRunId}; pin a run that has it.`;
    return { ...unjudged, explanation };
  }
  const runs = [...history, current].flatMap((run): ComparedRun[] => {
    const difference = differenceOn(check, run);
    if (difference === null) return [];
    const { runId, baselineRunId } = run;
    return [{ runId, baselineRunId, verdict: verdictOn(check, difference) }];
  });
  const confirmation = confirmRegression(runs, check.runs);
  const since =
    shift.mean === 0
      ? ''
      : `, of which ${decimals(-shift.mean)} came with the latest version of the set and does not count`;
  const numbers = `${describe(found)}${since}`;
  const { difference: value, ciLow, ciHigh, n } = found;
  const smallestDetectableDrop = detectableBy(check, found);
  const judged = { value, ciLow, ciHigh, n, smallestDetectableDrop, isBeyond: isRegression(check, found) };
  if (confirmation?.verdict === 'regression') {
    const rows = check.runs === 1 ? '' : ` in ${confirmation.consecutive} runs in a row`;
    const explanation = `${numbers}: it fell by ${decimals(check.drop)} or more${rows}.`;
    return { ...judged, verdict: check.severity, explanation };
  }
  const good = goodRuns(runs);
  if (isBreach(stood) && history.at(-1)?.baselineRunId === current.baselineRunId && good < check.runs) {
    const recovering =
      good === 0 ? 'a fall again' : `no fall, in ${good} of the ${check.runs} runs in a row that it takes`;
    return { ...judged, verdict: check.severity, explanation: `${numbers}: ${recovering}, so that it is not over.` };
  }
  if (confirmation?.verdict === 'unconfirmed_regression') {
    const explanation = `${numbers}: a fall, in ${confirmation.consecutive} of the ${check.runs} runs in a row that it takes.`;
    return { ...judged, verdict: 'ok', explanation };
  }
  const shown = isOneSided(found, 2 * check.alpha)
    ? `${found.losses > found.wins ? 'more queries score worse than better, and' : 'more queries score better than worse;'} the mean shows no drop of ${decimals(check.drop)}`
    : 'no drop that matters is shown';
  return {
    ...judged,
    verdict: 'ok',
    explanation: `${numbers}: ${shown}.${powerOf(smallestDetectableDrop, check.drop)}`,
  };
}

function powerOf(smallest: number | null, drop: number): string {
  if (smallest === null || smallest <= drop) return '';
  const found = `It finds drops of ${decimals(smallest)} or more; it watches for ${decimals(drop)}`;
  return isBlind({ verdict: 'ok', threshold: drop, smallestDetectableDrop: smallest })
    ? ` The check is blind: ${found.charAt(0).toLowerCase()}${found.slice(1)}. Pin a baseline with \`--reruns 9\`, add queries, or raise \`drop\`.`
    : ` ${found}.`;
}

/** How many of the latest runs in a row show no fall against the baseline of the last one. */
function goodRuns(runs: readonly ComparedRun[]): number {
  const latest = runs.toReversed();
  const baseline = latest[0]?.baselineRunId;
  const fall = latest.findIndex((run) => run.verdict === 'regression' || run.baselineRunId !== baseline);
  return fall === -1 ? latest.length : fall;
}

/** How a run differs from its baseline in the measure of a check; null when that measure was not compared. */
export function differenceOn(check: RegressionCheck, run: ComparedWithBaseline): BaselineDifference | null {
  const key = formatMetricKey(parseMetricKey(check.measure));
  return run.metrics.find((metric) => formatMetricKey(metric.key) === key) ?? null;
}

/** Whether one run by itself shows the fall that a check watches for. */
export function isRegression(check: RegressionCheck, found: BaselineDifference): boolean {
  return verdictOn(check, found) === 'regression';
}

function verdictOn(check: RegressionCheck, found: BaselineDifference) {
  return classifyDifference(
    { ...found, measure: found.key.measure },
    // Half of the level of the two-sided test lies on the side of a fall.
    { alpha: 2 * check.alpha, minEffect: check.drop },
  );
}

function describe({ key, difference, ciLow, ciHigh, ciMethod, p, n, wins, losses }: BaselineDifference): string {
  const reference = ciMethod === 'reruns' ? 'the mean of the runs of the baseline' : 'the baseline';
  return `${formatMetricKey(key)} against ${reference} ${signed(difference)} (95 % ${signed(ciLow)} to ${signed(ciHigh)}, ${probability(p)}, n = ${n}, ${wins} better, ${losses} worse)`;
}
