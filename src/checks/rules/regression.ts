/** The check that a golden measure has not fallen against its pinned baseline. */
import type { MetricComparison } from '../../golden/rules/compare-metric.ts';
import { type ComparedRun, confirmRegression, judgeDifference } from '../../golden/rules/verdict.ts';
import { formatMetricKey, parseMetricKey } from '../../ir/metric-key.ts';
import type { Severity, Verdict } from '../../model.ts';
import { signed } from '../../text/spelling.ts';
import { type CheckResult, type CheckShift, decimals, isBreach, NO_SHIFT, NO_VALUE } from './threshold.ts';

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

export function regressionCheckName(check: RegressionCheck, goldenSet: string): string {
  return `${check.name ?? `${check.measure} regression by ${check.drop}`} on ${goldenSet}`;
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
export function judgeRegression(
  configured: RegressionCheck,
  goldenSet: string,
  current: ComparedWithBaseline | string,
  history: readonly ComparedWithBaseline[],
  shift: CheckShift = NO_SHIFT,
  stood: Verdict | null = null,
): CheckResult {
  const check = { ...configured, drop: configured.drop - shift.mean };
  const base = {
    name: regressionCheckName(configured, goldenSet),
    severity: check.severity,
    threshold: -check.drop,
  };
  const unjudged = { ...base, ...NO_VALUE, verdict: 'no_data', isBeyond: false } as const;
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
  const judged = { ...base, value, ciLow, ciHigh, n, isBeyond: isRegression(check, found) };
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
  const smallest = found.smallestDetectableDifference;
  const power =
    smallest === null || smallest <= check.drop
      ? ''
      : ` The set would show a fall of ${decimals(smallest)} at the least, which is more than the ${decimals(check.drop)} watched for.`;
  return { ...judged, verdict: 'ok', explanation: `${numbers}: no fall that matters is shown.${power}` };
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
  const changed = found.wins + found.losses;
  return judgeDifference(
    { ...found, measure: found.key.measure, changed },
    // Half of the level of the two-sided test lies on the side of a fall.
    { alpha: 2 * check.alpha, minEffect: check.drop },
  );
}

function describe({ key, difference, ciLow, ciHigh, ciMethod, p, n, wins, losses }: BaselineDifference): string {
  const reference = ciMethod === 'reruns' ? 'the mean of the runs of the baseline' : 'the baseline';
  const chance = p < 0.0001 ? 'p < 0.0001' : `p = ${p.toFixed(4)}`;
  return `${formatMetricKey(key)} against ${reference} ${signed(difference, 4)} (95 % ${signed(ciLow, 4)} to ${signed(ciHigh, 4)}, ${chance}, n = ${n}, ${wins} better, ${losses} worse)`;
}
