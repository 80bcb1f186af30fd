/** Judges the stored runs of a golden set and stored measurements again, with the checks of today's config. */
import type { Pool } from 'pg';
import { ALL_SEGMENT } from '../core/model.ts';
import { toCompared } from '../golden/rules/compare-golden-runs.ts';
import type { RunLabels } from '../golden/rules/run.ts';
import { shiftsUpTo } from '../golden/runs/rotate-golden-set.ts';
import type { GoldenRotation, GoldenRotations } from '../golden/sql/golden-rotations.ts';
import { type ReplayedRun, replayRuns } from '../golden/sql/replayed-runs.ts';
import { parseMetricKey } from '../math/ir/metric-key.ts';
import { type MeasuredMoment, replayMeasure } from '../measures/measurement-history.ts';
import { judgedMeasure } from '../measures/rules/measure-table.ts';
import { nextStanding, type Standing } from './rules/check-state.ts';
import {
  type GoldenChecks,
  historyNeeded,
  judgeGoldenRun,
  listGoldenChecks,
  type RunEvidence,
} from './rules/golden-checks.ts';
import type { ComparedWithBaseline } from './rules/regression.ts';
import {
  type CheckResult,
  type CheckShifts,
  judgeThreshold,
  NO_VALUE,
  type ThresholdCheck,
} from './rules/threshold.ts';
import { type BacktestPeriod, type CheckBacktest, type CheckReplay, replayCheck } from './rules/verdict-episodes.ts';

export interface BacktestDeps {
  readonly pool: Pool;
  readonly rotations: Pick<GoldenRotations, 'list'>;
}

export interface BacktestedSet {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly checks: GoldenChecks;
  /** Only runs that ended at or after this. */
  readonly from: Date;
  readonly period: BacktestPeriod;
}

/**
 * Replays every run that came to an end of its own, in order, through the functions that judge live runs: scores,
 * comparisons with the baseline of then, and the state of the labels are those that were stored. A void run has no scores
 * and a failed one judges nothing, as in the daemon. Sentinels are not replayed, nor is a new version while it runs
 * beside the old one. Checks without any run are left out.
 *
 * @throws RecalldError database_unreachable; the reason of `signal` as soon as it aborts
 */
export async function backtestGoldenChecks(
  { pool, rotations }: BacktestDeps,
  set: BacktestedSet,
  signal: AbortSignal,
): Promise<CheckBacktest[]> {
  const { pipeline, goldenSet, checks, from, period } = set;
  const rotated = await rotations.list({ pipeline, goldenSet });
  const shiftsOf = remember((version: number) => shiftsUpTo(rotated, version));
  const completed = latestCompleted(historyNeeded(checks));
  const replays = new Map<string, CheckReplay>();
  const asked = {
    pipeline,
    goldenSet,
    from,
    until: period.until,
    earlier: historyNeeded(checks),
    scored: checks.floors.map(({ measure }) => parseMetricKey(measure).measure),
    compared: checks.regressions.map(({ measure }) => parseMetricKey(measure).measure),
  };
  for await (const run of replayRuns(pool, asked, signal)) {
    const compared = run.comparison === null ? null : toCompared(run.id, run.comparison);
    const earlier = completed.before(run.goldenSetVersion);
    const results = judge(run, set, {
      scores: run.scores,
      compared: compared ?? withoutComparison(run),
      history: earlier.flatMap((one) => one.compared ?? []),
      before: earlier.findLast((one) => one.compared)?.results ?? [],
      labels: labelsOf(run.labels),
      forbidden: run.forbidden === null ? null : { ...run.forbidden, confirmed: run.returned },
      shifts: shiftsOf(run.goldenSetVersion),
    });
    if (run.status === 'completed') completed.add({ version: run.goldenSetVersion, compared, results });
    if (run.finishedAt < from || isBesideAnother(run, rotated)) continue;
    for (const result of results) replayOf(replays, period, result).add(run.finishedAt, result);
  }
  return [...replays.values()].flatMap((replay) => replay.end() ?? []);
}

function replayOf(
  replays: Map<string, CheckReplay>,
  period: BacktestPeriod,
  { name, severity }: CheckResult,
): CheckReplay {
  const key = JSON.stringify([name, severity]);
  const replay = replays.get(key) ?? replayCheck(period);
  replays.set(key, replay);
  return replay;
}

function remember<Key, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? compute(key);
    known.set(key, value);
    return value;
  };
}

interface CompletedRun {
  readonly version: number;
  readonly compared: ComparedWithBaseline | null;
  readonly results: readonly CheckResult[];
}

/** Keeps the last `needed` completed runs of each version of a set. */
function latestCompleted(needed: number) {
  const byVersion = new Map<number, CompletedRun[]>();
  return {
    add(run: CompletedRun): void {
      const own = byVersion.get(run.version) ?? [];
      byVersion.set(run.version, own);
      own.push(run);
      if (own.length > needed) own.shift();
    },

    /** Those that a run of a version is judged by: no newer version, older versions first. */
    before(version: number): readonly CompletedRun[] {
      if (needed === 0) return [];
      const versions = [...byVersion.keys()].filter((one) => one <= version).toSorted((a, b) => a - b);
      return versions.flatMap((one) => byVersion.get(one) ?? []).slice(-needed);
    },
  };
}

/** Whether it was of a new version beside the one whose verdicts count. */
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
  return `The run ${id} was compared with no baseline.`;
}

function labelsOf({ probed, stale, lost, gap }: RunLabels): RunEvidence['labels'] {
  if (probed === null || stale === null) {
    return { kind: 'unknown', reason: gap ?? 'Nobody looked whether judged documents still exist.' };
  }
  return { kind: 'probed', probed, stale, lost: lost ?? 0 };
}

function judge(
  run: ReplayedRun,
  { checks, goldenSet }: BacktestedSet,
  evidence: RunEvidence & { readonly shifts: CheckShifts },
): CheckResult[] {
  if (run.status !== 'failed') return judgeGoldenRun(checks, goldenSet, evidence);
  const explanation = `The run ${run.id} failed: ${run.reason ?? 'no reason was stored.'}`;
  return listGoldenChecks(checks, goldenSet, evidence.shifts).map(({ name, severity, threshold }) => ({
    name,
    severity,
    threshold,
    ...NO_VALUE,
    verdict: 'no_data',
    isBeyond: false,
    explanation,
  }));
}

export interface BacktestedThresholds {
  readonly pipeline: string;
  readonly thresholds: readonly ThresholdCheck[];
  /** Only measurements whose windows ended at or after this. */
  readonly from: Date;
  readonly period: BacktestPeriod;
}

/**
 * Replays the measurements of every threshold in order, through the functions that judge live ones, hysteresis and
 * confirmation included. Reasons for none are not kept over time, so that silence is seen only as a gap between two
 * measurements. Ages are no measurements; thresholds on them, and those without any measurement, are left out.
 *
 * @throws RecalldError database_unreachable; the reason of `signal` as soon as it aborts
 */
export async function backtestThresholds(
  pool: Pool,
  { pipeline, thresholds, from, period }: BacktestedThresholds,
  signal: AbortSignal,
): Promise<CheckBacktest[]> {
  const found: CheckBacktest[] = [];
  for (const check of thresholds) {
    const isOfAll = check.segments === 'all' && judgedMeasure(check.measure).of === 'traffic';
    const measure = { pipeline, measure: check.measure, segment: isOfAll ? ALL_SEGMENT : null };
    const replay = replayCheck(period);
    let standing: Standing | null = null;
    for await (const moment of replayMeasure(pool, measure, from, period.until, signal)) {
      standing = replayMoment(check, standing, moment, replay);
    }
    const backtest = replay.end();
    if (backtest !== null) found.push(backtest);
  }
  return found;
}

/** Measurements of one moment are of the segments of one window, and judged together. */
function replayMoment(
  check: ThresholdCheck,
  before: Standing | null,
  { at, values }: MeasuredMoment,
  replay: CheckReplay,
): Standing {
  const found = judgeThreshold(check, values);
  const standing = nextStanding(check, before, found, at, at);
  const { name, severity, threshold } = found;
  const { verdict, explanation } = standing;
  replay.add(at, { name, severity, threshold, verdict, explanation });
  return standing;
}
