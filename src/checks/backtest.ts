/** Judges the stored runs of a golden set and stored measurements again, with the checks of today's config. */

import { toCompared } from '../golden/rules/compare-golden-runs.ts';
import type { GoldenRun, RunLabels } from '../golden/rules/run.ts';
import { shiftsOf } from '../golden/runs/rotate-golden-set.ts';
import { readForbiddenResults } from '../golden/runs/stored-runs.ts';
import type { GoldenRotation, GoldenRotations } from '../golden/sql/golden-rotations.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import type { Measurements } from '../measures/measurements.ts';
import { judgedMeasure } from '../measures/rules/measure-table.ts';
import type { Measurement } from '../measures/rules/measurement.ts';
import { ALL_SEGMENT } from '../model.ts';
import type { Clock } from '../time.ts';
import { nextStanding, type Standing } from './rules/check-state.ts';
import {
  type GoldenChecks,
  historyNeeded,
  judgeGoldenRun,
  listGoldenChecks,
  type RunEvidence,
} from './rules/golden-checks.ts';
import type { ComparedWithBaseline } from './rules/regression.ts';
import { type CheckResult, judgeThreshold, NO_VALUE, type ThresholdCheck } from './rules/threshold.ts';
import {
  type BacktestPeriod,
  backtestCheck,
  type CheckBacktest,
  type CheckEvaluation,
} from './rules/verdict-episodes.ts';

export interface BacktestDeps {
  readonly runs: Pick<GoldenRuns, 'list' | 'scores' | 'forbidden' | 'comparisons'>;
  readonly rotations: GoldenRotations;
}

export interface BacktestedSet {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly checks: GoldenChecks;
  /** Only runs that ended at or after this. */
  readonly from: Date;
  readonly period: BacktestPeriod;
}

const PAGE = 200;

/**
 * Replays every run that came to an end of its own, in order, through the functions that judge live runs: scores,
 * comparisons with the baseline of then, and the state of the labels are those that were stored. A void run has no scores
 * and a failed one judges nothing, as in the daemon. Sentinels are not replayed, nor is a new version while it runs
 * beside the old one. Checks without any run are left out.
 */
export async function backtestGoldenChecks(deps: BacktestDeps, set: BacktestedSet): Promise<CheckBacktest[]> {
  const { pipeline, goldenSet, checks, from, period } = set;
  const needed = historyNeeded(checks);
  const [ended, rotations] = await Promise.all([
    readEnded(deps.runs, set, needed),
    deps.rotations.list({ pipeline, goldenSet }),
  ]);
  const timelines = new Map<string, CheckEvaluation[]>();
  const completed: CompletedRun[] = [];
  for (const run of ended) {
    const earlier = historyOf(run, completed, needed);
    const history = earlier.flatMap(({ compared }) => compared ?? []);
    const evidence = await readEvidence(deps, run, history);
    const results = judge(run, set, {
      ...evidence,
      before: earlier.findLast(({ compared }) => compared)?.results ?? [],
    });
    if (run.status === 'completed') {
      const { compared } = evidence;
      completed.push({
        version: run.goldenSetVersion,
        compared: typeof compared === 'string' ? null : compared,
        results,
      });
    }
    const at = run.finishedAt;
    if (at < from || isBesideAnother(run, rotations)) continue;
    for (const result of results) {
      const key = JSON.stringify([result.name, result.severity]);
      timelines.set(key, [...(timelines.get(key) ?? []), { at, result }]);
    }
  }
  return [...timelines.values()].flatMap((history) => backtestCheck(history, period) ?? []);
}

interface CompletedRun {
  readonly version: number;
  readonly compared: ComparedWithBaseline | null;
  readonly results: readonly CheckResult[];
}

/** The completed runs before one, as that run was judged by: older versions first. */
function historyOf(
  { goldenSetVersion }: GoldenRun,
  completed: readonly CompletedRun[],
  needed: number,
): CompletedRun[] {
  if (needed === 0) return [];
  return completed
    .filter(({ version }) => version <= goldenSetVersion)
    .toSorted((a, b) => a.version - b.version)
    .slice(-needed);
}

/** Whether it was of a new version beside the one whose verdicts count. */
function isBesideAnother(run: EndedRun, rotations: readonly GoldenRotation[]): boolean {
  return rotations.some(
    ({ fromVersion, startedAt, endedAt }) =>
      run.goldenSetVersion > fromVersion &&
      run.startedAt >= startedAt &&
      (endedAt === null || run.finishedAt < endedAt),
  );
}

/** Oldest first, those of the period and as many completed runs before it as a regression looks back on. */
async function readEnded(
  runs: Pick<GoldenRuns, 'list'>,
  { pipeline, goldenSet, from, period }: BacktestedSet,
  needed: number,
): Promise<EndedRun[]> {
  const inside: EndedRun[] = [];
  const earlier: EndedRun[] = [];
  let before: GoldenRun | undefined;
  do {
    const after = before === undefined ? {} : { before };
    const page = await runs.list({ pipeline, goldenSet, limit: PAGE, ...after });
    for (const run of page.filter(isEnded)) {
      if (run.finishedAt >= from && run.finishedAt < period.until) inside.push(run);
      else if (run.finishedAt < from && run.status === 'completed') earlier.push(run);
    }
    before = page.length < PAGE ? undefined : page.at(-1);
  } while (before !== undefined && (before.startedAt >= from || earlier.length < needed));
  return [...inside, ...earlier.slice(0, needed)].toReversed();
}

type EndedRun = GoldenRun & { readonly finishedAt: Date };

/** Came to an end of its own. */
function isEnded(run: GoldenRun): run is EndedRun {
  return run.finishedAt !== null && run.status !== 'cancelled';
}

async function readEvidence(
  { runs, rotations }: BacktestDeps,
  run: GoldenRun,
  history: readonly ComparedWithBaseline[],
): Promise<RunEvidence> {
  const [scores, comparisons, shifts, forbidden] = await Promise.all([
    runs.scores(run.id),
    runs.comparisons(run.id),
    shiftsOf(rotations, run),
    readForbiddenResults(runs, run),
  ]);
  const baseline = comparisons.find(({ kind }) => kind === 'baseline');
  return {
    scores,
    compared: baseline === undefined ? withoutComparison(run) : toCompared(run.id, baseline),
    history,
    labels: labelsOf(run.labels),
    forbidden,
    shifts,
  };
}

function withoutComparison({ id, status, reason }: GoldenRun): string {
  if (status === 'void') return `The run is void: ${reason ?? 'no reason was stored.'}`;
  return `The run ${id} was compared with no baseline.`;
}

function labelsOf({ probed, stale, lost, gap }: RunLabels): RunEvidence['labels'] {
  if (probed === null || stale === null) {
    return { kind: 'unknown', reason: gap ?? 'Nobody looked whether judged documents still exist.' };
  }
  return { kind: 'probed', probed, stale, lost: lost ?? 0 };
}

function judge(run: EndedRun, { checks, goldenSet }: BacktestedSet, evidence: RunEvidence): CheckResult[] {
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

export interface BacktestThresholdsDeps {
  readonly measurements: Pick<Measurements, 'latest' | 'series'>;
  readonly clock: Clock;
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
 */
export async function backtestThresholds(
  deps: BacktestThresholdsDeps,
  { pipeline, thresholds, from, period }: BacktestedThresholds,
): Promise<CheckBacktest[]> {
  const latest = await deps.measurements.latest(deps.clock.now());
  const found: CheckBacktest[] = [];
  for (const check of thresholds) {
    const isOfTraffic = judgedMeasure(check.measure).of === 'traffic';
    const series = latest.filter(
      (one) =>
        one.pipeline === pipeline &&
        one.measure === check.measure &&
        (one.segment === ALL_SEGMENT || check.segments === 'each' || !isOfTraffic),
    );
    const measured: Measurement[] = [];
    for (const one of series) measured.push(...(await deps.measurements.series(one, from, period.until)));
    const backtest = backtestCheck(replay(check, measured), period);
    if (backtest !== null) found.push(backtest);
  }
  return found;
}

/** Measurements of one moment are of the segments of one window, and judged together. */
function replay(check: ThresholdCheck, measured: readonly Measurement[]): CheckEvaluation[] {
  const moments = new Map<number, Measurement[]>();
  for (const one of measured) {
    const at = one.windowEnd.getTime();
    moments.set(at, [...(moments.get(at) ?? []), one]);
  }
  let standing: Standing | null = null;
  const history: CheckEvaluation[] = [];
  for (const [ms, values] of [...moments].toSorted(([a], [b]) => a - b)) {
    const at = new Date(ms);
    const found = judgeThreshold(
      check,
      values.map(({ segment, value, ciLow, ciHigh, n }) => ({
        kind: 'value',
        segment,
        value,
        ciLow,
        ciHigh,
        n,
      })),
    );
    standing = nextStanding(check, standing, found, at, at);
    const { verdict, explanation } = standing;
    history.push({ at, result: { ...found, verdict, explanation } });
  }
  return history;
}
