/** Evaluates the configured checks on stored golden runs and measurements. */
import type { Pool } from 'pg';
import { ALL_SEGMENT } from '../core/model.ts';
import { toCompared } from '../golden/rules/compare-golden-runs.ts';
import { failureSentence, type RunLabels } from '../golden/rules/run.ts';
import { checkShiftsAt } from '../golden/runs/rotate-golden-set.ts';
import type { GoldenRotation, GoldenRotations } from '../golden/sql/golden-rotations.ts';
import { type ReplayedRun, replayRuns } from '../golden/sql/replayed-runs.ts';
import { parseMetricKey } from '../math/ir/metric-key.ts';
import { replayMeasure } from '../measures/measurement-history.ts';
import { thresholdPolicy } from '../measures/rules/measure-table.ts';
import { goldenChecksOf, thresholdOf } from './check-store.ts';
import type { CheckStatus, ConfiguredCheck } from './rules/check-state.ts';
import { type CheckFacts, evaluate, factsOfReadings, factsOfRun } from './rules/evaluate.ts';
import { evaluateGoldenRun, type GoldenCheck, historyNeeded, ofKind, type RunEvidence } from './rules/golden-checks.ts';
import type { ComparedWithBaseline } from './rules/regression.ts';
import type { CheckResult, ThresholdCheck } from './rules/threshold.ts';
import { type BacktestPeriod, type CheckBacktest, replayCheck } from './rules/verdict-episodes.ts';

interface Backtested {
  readonly pipeline: string;
  readonly from: Date;
  readonly period: BacktestPeriod;
}

/**
 * Replays the stored scores, comparisons and label states of all runs except cancelled ones, in order, through the
 * functions that evaluate live runs. As in the daemon, a void run has no scores and a failed run has no results. Skips
 * sentinel runs, and runs of a new golden set version that started and finished while the verdicts of the old version
 * applied. Omits checks without runs.
 *
 * @throws RecalldError database_unreachable; the abort reason of `signal` as soon as `signal` aborts
 */
export async function backtestGoldenChecks(
  pool: Pool,
  rotations: GoldenRotations,
  set: Backtested & { readonly goldenSet: string; readonly checks: readonly GoldenCheck[] },
  signal: AbortSignal,
): Promise<CheckBacktest[]> {
  const { pipeline, goldenSet, checks, from, period } = set;
  const rotated = await rotations.list({ pipeline, goldenSet });
  const completed = latestCompleted(historyNeeded(checks));
  const replays = goldenChecksOf(pipeline, checks, goldenSet).map((check) => replayOf(check, period));
  const history = {
    pipeline,
    goldenSet,
    from,
    until: period.until,
    earlier: historyNeeded(checks),
    scored: ofKind(checks, 'floor').map(({ measure }) => parseMetricKey(measure).measure),
    compared: ofKind(checks, 'regression').map(({ measure }) => parseMetricKey(measure).measure),
  };
  for await (const run of replayRuns(pool, history, signal)) {
    const { finishedAt } = run;
    const compared = run.comparison === null ? null : toCompared(run.id, run.comparison);
    const earlier = completed.before(run.goldenSetVersion);
    const results =
      run.status === 'failed'
        ? []
        : evaluateGoldenRun(checks, goldenSet, {
            scores: run.scores,
            compared: compared ?? withoutComparison(run),
            history: earlier.flatMap((one) => one.compared ?? []),
            before: earlier.findLast((one) => one.compared)?.results ?? [],
            labels: labelsOf(run.labels),
            forbidden: run.forbidden === null ? null : { ...run.forbidden, confirmed: run.returned },
            shifts: checkShiftsAt(rotated, run.goldenSetVersion),
          });
    if (run.status === 'completed') completed.add({ version: run.goldenSetVersion, compared, results });
    if (finishedAt < from || isBesideAnother(run, rotated)) continue;
    const ended = {
      checks: results,
      evidence: { from: finishedAt, until: finishedAt },
      failure: run.status === 'failed' ? failureSentence(run.id, run.reason) : null,
      baseline: run.comparison?.against ?? null,
      trustedSeconds: period.trustedSeconds,
    };
    for (const replay of replays) replay.add(factsOfRun(replay.check, ended), finishedAt);
  }
  return replays.flatMap((replay) => replay.end() ?? []);
}

function replayOf(check: ConfiguredCheck, period: BacktestPeriod) {
  const replay = replayCheck(period);
  let status: CheckStatus | null = null;
  return {
    check,
    add(facts: CheckFacts, at: Date): void {
      status = evaluate(check, facts, status, at);
      replay.add(at, status);
    },
    end: () => replay.end(),
  };
}

interface CompletedRun {
  readonly version: number;
  readonly compared: ComparedWithBaseline | null;
  readonly results: readonly CheckResult[];
}

/** Keeps the last `needed` completed runs of each golden set version. */
function latestCompleted(needed: number) {
  const byVersion = new Map<number, CompletedRun[]>();
  return {
    add(run: CompletedRun): void {
      const own = byVersion.get(run.version) ?? [];
      byVersion.set(run.version, own);
      own.push(run);
      if (own.length > needed) own.shift();
    },

    /** Returns the runs of this and older golden set versions, oldest version first. */
    before(version: number): readonly CompletedRun[] {
      if (needed === 0) return [];
      const versions = [...byVersion.keys()].filter((one) => one <= version).toSorted((a, b) => a - b);
      return versions.flatMap((one) => byVersion.get(one) ?? []).slice(-needed);
    },
  };
}

/**
 * True for a run of a new golden set version that started and finished while the verdicts of the old version applied.
 */
function isBesideAnother(run: ReplayedRun, rotations: readonly GoldenRotation[]): boolean {
  return rotations.some(
    ({ fromVersion, startedAt, endedAt }) =>
      run.goldenSetVersion > fromVersion &&
      run.startedAt >= startedAt &&
      (endedAt === null || run.finishedAt < endedAt),
  );
}

function withoutComparison({ id, status, reason }: ReplayedRun): string {
  if (status === 'void') return `The run is void: ${reason ?? 'no reason was stored.'}`;
  return `The run ${id} was not compared with a baseline.`;
}

function labelsOf({ probed, stale, deleted, lost, gap }: RunLabels): RunEvidence['labels'] {
  if (probed === null || stale === null) {
    return { kind: 'unknown', reason: gap ?? 'The vector store was not probed for judged documents.' };
  }
  return { kind: 'probed', probed, stale, deleted: deleted ?? 0, lost: lost ?? 0 };
}

/**
 * Replays the measurements of every threshold in order, through the functions that evaluate live measurements, with
 * hysteresis and confirmation. Only the latest reason for a missing value is stored, so in a replay missing data is
 * just a gap between two measurements. Omits thresholds on ages, because ages are not stored, and thresholds without
 * measurements.
 *
 * @throws RecalldError database_unreachable; the abort reason of `signal` as soon as `signal` aborts
 */
export async function backtestThresholds(
  pool: Pool,
  { pipeline, thresholds, from, period }: Backtested & { readonly thresholds: readonly ThresholdCheck[] },
  signal: AbortSignal,
): Promise<CheckBacktest[]> {
  const found: CheckBacktest[] = [];
  for (const rule of thresholds) {
    const isOfAll = rule.segments === 'all' && thresholdPolicy(rule.measure).scope === 'traffic';
    const measure = { pipeline, measure: rule.measure, segment: isOfAll ? ALL_SEGMENT : null };
    const replay = replayOf(thresholdOf(pipeline, rule), period);
    // All segments of a window are measured at the same time and evaluated together.
    for await (const { at, values } of replayMeasure(pool, measure, from, period.until, signal)) {
      replay.add(factsOfReadings(rule, values, { from: at, until: at }, at), at);
    }
    const backtest = replay.end();
    if (backtest !== null) found.push(backtest);
  }
  return found;
}
