/** Reads the status of one pipeline in detail, or an overview of all pipelines. */
import { statesOf } from '../../checks/check-store.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS } from '../../core/time.ts';
import type { SegmentScore } from '../../golden/rules/run.ts';
import type { GoldenRuns } from '../../golden/sql/golden-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { isCorrected } from '../../judging/gauges.ts';
import {
  type GoldenSetStatus,
  openIncidentOf,
  type PipelineStatus,
  pipelineStatus,
  type StatusFacts,
} from './pipeline-status.ts';

const DEPLOYMENTS_MS = 7 * DAY_MS;
const MAX_DEPLOYMENTS = 100;

export type DetailedStatus = Awaited<ReturnType<typeof readDetailedStatus>>;

/** Reads the status of every pipeline, in config order. */
export async function readStatuses(context: Context): Promise<readonly PipelineStatus[]> {
  const now = context.clock.now();
  const facts = await readFacts(context, now);
  return context.pipelines.map((pipeline) => pipelineStatus(pipeline, facts, now));
}

/** Reads the status of a pipeline, with the time of the status (`at`). */
export async function readStatus(context: Context, pipeline: WatchedPipeline) {
  const at = context.clock.now();
  return { ...pipelineStatus(pipeline, await readFacts(context, at), at), at };
}

/** Reads the status of a pipeline, its recent deployments, and the runs behind its scores. */
export async function readDetailedStatus(context: Context, pipeline: WatchedPipeline) {
  const since = new Date(context.clock.now().getTime() - DEPLOYMENTS_MS);
  const [status, deployments] = await Promise.all([
    readStatus(context, pipeline),
    context.db.live.deployments.list({ pipeline: pipeline.name, since, limit: MAX_DEPLOYMENTS }),
  ]);
  return {
    ...status,
    /** The runs that produced each golden set's scores. */
    runs: await Promise.all(status.golden.map(({ goldenSet }) => readRuns(context, pipeline.name, goldenSet))),
    /** Deployments of the last seven days, newest first. */
    deployments,
  };
}

async function readFacts(context: Context, now: Date): Promise<StatusFacts> {
  const { intervalSeconds, liveIntervalSeconds, ownLag } = context;
  const [latest, measurements, statuses] = await Promise.all([
    context.db.golden.runs.latest(),
    context.db.measurements.latest(now),
    context.db.checks.statuses(),
  ]);
  return {
    latest,
    // Once human judgments correct the judge model's scores, the uncorrected scores are no longer measured and would
    // become too old.
    measurements: measurements.filter((one) => !isCorrected(one, measurements)),
    checks: statesOf(context, statuses, now),
    intervalSeconds,
    liveIntervalSeconds,
    ownLag,
  };
}

async function readRuns({ db }: Context, pipeline: string, goldenSet: string) {
  const [[latest], [latestCompleted], baseline] = await Promise.all([
    db.golden.runs.list({ pipeline, goldenSet, limit: 1 }),
    db.golden.runs.list({ pipeline, goldenSet, status: 'completed', limit: 1 }),
    db.golden.baselines.pinned(pipeline, goldenSet),
  ]);
  return { goldenSet, latest: latest ?? null, latestCompleted: latestCompleted ?? null, baseline };
}

/** A pipeline in the output of `recalld status --json`. */
export type OverviewJson = Awaited<ReturnType<typeof readOverview>>[number];

const TREND_RUNS = 20;

export async function readOverview(context: Context) {
  const [statuses, open] = await Promise.all([readStatuses(context), context.db.incidents.open()]);
  const overview = [];
  for (const status of statuses) {
    const { pipeline, state, reasons, unknowns, golden } = status;
    overview.push({
      pipeline,
      state,
      reasons: reasons.map(({ sentence }) => sentence),
      unknowns,
      /** Summary of the open incident's diagnosis; null if no incident is open. */
      diagnosis: openIncidentOf(status, open)?.summary ?? null,
      golden_sets: await Promise.all(golden.map((set) => goldenSet(context.db.golden.runs, pipeline, set))),
    });
  }
  return overview;
}

async function goldenSet(runs: GoldenRuns, pipeline: string, { goldenSet: set, completed }: GoldenSetStatus) {
  const headline = completed === null ? null : headlineOf(completed.scores);
  return {
    golden_set: set,
    /** Age of the last completed run; null if no run has completed. */
    age_seconds: completed && Math.round(completed.ageSeconds),
    is_too_old: completed?.isTooOld ?? false,
    /** nDCG at the largest cutoff. */
    score: headline && {
      measure: `${headline.measure}@${headline.k}`,
      mean: headline.mean,
      ci_low: headline.ciLow,
      ci_high: headline.ciHigh,
    },
    /** nDCG at the same cutoff in the last completed runs, oldest first. */
    trend: headline === null ? [] : await readTrend(runs, pipeline, set, headline.k),
  };
}

/** nDCG at `k` in a set's last completed runs, oldest first; null for a run without this cutoff. */
export async function readTrend(runs: GoldenRuns, pipeline: string, set: string, k: number) {
  const found = await runs.list({ pipeline, goldenSet: set, status: 'completed', limit: TREND_RUNS });
  const values = await Promise.all(
    found.map(async ({ id }) => {
      const scores = await runs.scores(id);
      return scores.find((one) => one.segment === ALL_SEGMENT && one.measure === 'ndcg' && one.k === k)?.mean ?? null;
    }),
  );
  return values.toReversed();
}

function headlineOf(scores: readonly SegmentScore[]): SegmentScore | null {
  const found = scores.filter(({ segment, measure }) => segment === ALL_SEGMENT && measure === 'ndcg');
  return found.toSorted((a, b) => b.k - a.k)[0] ?? null;
}
