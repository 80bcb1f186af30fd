import type { Context } from '../../core/context.ts';
import { toDocument } from '../../core/text/names.ts';
import { DAY_MS } from '../../core/time.ts';
import { type Cron, latestOccurrence, occurrencesBetween } from '../../math/schedule/occurrences.ts';
import type { GoldenSetVersion } from '../rules/golden-set.ts';
import type { GoldenRun, RunPurpose, RunReason } from '../rules/run.ts';
import { fitsBudget, isQuiet, type StartPurpose, startOfDay } from '../rules/schedule.ts';
import { scoresBy } from '../rules/score-run.ts';
import { chooseSentinel } from '../rules/sentinel.ts';
import type { SkipReason, TickSeries } from '../sql/golden-ticks.ts';
import type { GoldenSchedule, WatchedPipeline } from '../watched-pipeline.ts';
import { versionsToRun } from './rotate-golden-set.ts';
import { createGoldenRun, latestVersion, manualRun } from './run-golden-set.ts';

/** Maximum number of earlier sentinels to search for the time when sentinels began to fail. */
const MAX_IN_A_ROW = 300;

/**
 * Starts a full run of the same version after a failed sentinel, even in quiet hours. Does nothing if a full run is in
 * progress, or has started since the sentinels began to fail. The full run may use the part of the daily budget that is
 * reserved for it.
 *
 * @returns the id of the full run; null if no full run is needed, or if the remaining daily budget is too small
 */
export async function escalateSentinel(
  context: Context,
  sentinelId: string,
  pipeline: WatchedPipeline,
): Promise<string | null> {
  const sentinel = await context.db.golden.runs.find(sentinelId);
  if (sentinel === null || !hasFailed(sentinel)) return null;
  const golden = pipeline.golden.find(({ set }) => set === sentinel.goldenSet);
  if (golden === undefined) return null;
  const failingSince = await startOfFailures(context, sentinel);
  const { pipeline: name, goldenSet, goldenSetVersion: version } = sentinel;
  const [lastFull] = await context.db.golden.runs.list({ pipeline: name, goldenSet, version, limit: 1 });
  if (lastFull !== undefined && (lastFull.startedAt >= failingSince || lastFull.status === 'running')) return null;
  const size = await context.db.golden.sets.requests(goldenSet, version, null);
  const fields = { pipeline: name, golden_set: goldenSet, sentinel: sentinel.id };
  if (!(await isInBudget(context, pipeline, golden, 'escalation', size, size))) {
    context.logger.error('a sentinel run failed, but the remaining daily budget is too small for a full run', fields);
    return null;
  }
  const cause = `Sentinel run ${sentinel.id} failed: ${sentinel.reason ?? ''}`;
  const run = await createGoldenRun(context, pipeline, golden, version, { ...manualRun, trigger: 'sentinel', cause });
  if (run === null) return null;
  context.logger.warn('a sentinel run failed; started a full run', { ...fields, run_id: run.id });
  await context.hooks.resume(run);
  return run.id;
}

function hasFailed({ status, reason }: GoldenRun): boolean {
  return (status === 'completed' || status === 'void') && reason !== null;
}

async function startOfFailures({ db }: Context, sentinel: GoldenRun): Promise<Date> {
  const { pipeline, goldenSet, goldenSetVersion: version } = sentinel;
  const before = await db.golden.runs.list({
    pipeline,
    goldenSet,
    version,
    purpose: 'sentinel',
    before: sentinel,
    limit: MAX_IN_A_ROW,
  });
  const ended = before.filter(({ status }) => status === 'completed' || status === 'void');
  const passed = ended.findIndex((run) => !hasFailed(run));
  const row = passed === -1 ? ended : ended.slice(0, passed);
  return row.at(-1)?.startedAt ?? sentinel.startedAt;
}

/** Maximum age of missed ticks to record. If all missed ticks are older, only the last one is recorded. */
const LOOK_BACK_MS = DAY_MS;
/** Maximum number of runs in progress to read; a series never has more. */
const MAX_RUNNING = 20;
/** Number of full runs whose scores determine the choice of sentinel queries. */
const HISTORY_RUNS = 5;

/**
 * Starts the runs of a tick, or records why the tick is skipped. A tick is skipped if it falls into quiet hours (full
 * runs only), if another run of the same series is in progress, if the remaining daily budget is too small, or if there
 * is no full run to compare the sentinel with.
 *
 * @returns the ids of the started runs; empty if the tick was skipped, or if another scheduler has already started it
 * @throws RecalldError golden_set_unknown, golden_set_empty
 */
export async function tickGoldenSet(
  context: Context,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  purpose: RunPurpose,
  plannedAt: Date,
): Promise<string[]> {
  const latest = await latestVersion(context.db.golden.sets, golden.set);
  const series = { pipeline: pipeline.name, goldenSet: golden.set, purpose };
  const cron = purpose === 'full' ? golden.cron : (golden.sentinel?.cron ?? null);
  await noteMissed(context, series, cron, plannedAt);
  const start = async (): Promise<string[] | SkipReason> => {
    if (purpose === 'full' && isQuiet(golden.quietHours, golden.timezone, plannedAt)) return 'quiet_hours';
    if (await isStillRunning(context, series, plannedAt)) return 'still_running';
    return purpose === 'full'
      ? startFullRuns(context, pipeline, golden, latest, plannedAt)
      : startSentinel(context, pipeline, golden, plannedAt);
  };
  const started = await start();
  if (typeof started !== 'string') return started;
  await context.db.golden.ticks.skip(series, [plannedAt], started, context.clock.now());
  return [];
}

/** Starts a full run of the set. While a new version runs alongside the old one, starts a full run of each version. */
async function startFullRuns(
  context: Context,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  latest: GoldenSetVersion,
  scheduledFor: Date,
): Promise<string[] | SkipReason> {
  const started: string[] = [];
  const reason: RunReason = { ...manualRun, trigger: 'schedule', scheduledFor };
  for (const version of await versionsToRun(context, pipeline.name, golden, latest)) {
    const size = await context.db.golden.sets.requests(golden.set, version, null);
    if (!(await isInBudget(context, pipeline, golden, 'full', size, size)))
      // The tick counts as skipped only if no run has started, not even the run of the older version.
      return started.length === 0 ? 'daily_budget' : started;
    const run = await createGoldenRun(context, pipeline, golden, version, reason);
    if (run !== null) started.push(run.id);
  }
  return started;
}

/** Starts a sentinel run of the version whose scores are exported. */
async function startSentinel(
  context: Context,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  scheduledFor: Date,
): Promise<string[] | SkipReason> {
  const { sentinel, set: goldenSet } = golden;
  if (sentinel === null) return [];
  const rotation = await context.db.golden.rotations.open(pipeline.name, goldenSet);
  const [full] = await context.db.golden.runs.list({
    pipeline: pipeline.name,
    goldenSet,
    status: 'completed',
    limit: 1,
    version: rotation?.fromVersion,
  });
  if (full === undefined) return 'no_full_run';
  const queryIds = await sentinelQueries(context, full, sentinel.queries);
  const { goldenSetVersion: version } = full;
  const planned = await context.db.golden.sets.requests(goldenSet, version, queryIds);
  const size = await context.db.golden.sets.requests(goldenSet, version, null);
  if (!(await isInBudget(context, pipeline, golden, 'sentinel', planned, size))) return 'daily_budget';
  const reason: RunReason = { ...manualRun, trigger: 'schedule', scheduledFor, purpose: 'sentinel', queryIds };
  const run = await createGoldenRun(context, pipeline, golden, version, reason);
  return run === null ? [] : [run.id];
}

/**
 * Returns true if a run of the series that was started for a different tick is still in progress. Two runs at the same
 * time would double the load on the retriever and compete for its rate limit. A run past its deadline does not count,
 * because recovery will mark it as failed.
 */
async function isStillRunning({ db, clock, logger }: Context, series: TickSeries, plannedAt: Date): Promise<boolean> {
  const running = await db.golden.runs.list({ ...series, status: 'running', limit: MAX_RUNNING });
  const now = clock.now();
  const other = running.find(
    ({ scheduledFor, deadlineAt }) => scheduledFor?.getTime() !== plannedAt.getTime() && deadlineAt > now,
  );
  if (other === undefined) return false;
  logger.warn('skipped a scheduled golden run, because an earlier run is still in progress', {
    ...toDocument(series),
    planned_at: plannedAt.toISOString(),
    run_id: other.id,
  });
  return true;
}

/** True if the remaining daily budget covers `planned` requests; `full` is the number of requests of a full run. */
async function isInBudget(
  context: Context,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  purpose: StartPurpose,
  planned: number,
  full: number,
): Promise<boolean> {
  const { maxQueriesPerDay: limit, set, timezone, sentinel } = golden;
  if (limit === null) return true;
  const midnight = startOfDay(timezone, context.clock.now());
  const asked = await context.db.golden.ticks.requestsSince(pipeline.name, set, midnight);
  return fitsBudget({ purpose, limit, asked, planned, full, hasSentinel: sentinel !== null });
}

/**
 * Returns the query ids of the version's last sentinel, so that sentinel runs stay comparable. If the version or the
 * number of queries has changed, chooses new queries based on their scores in the last full runs.
 */
async function sentinelQueries(context: Context, full: GoldenRun, count: number): Promise<readonly string[]> {
  const { pipeline, goldenSet, goldenSetVersion: version, settings } = full;
  const [before] = await context.db.golden.runs.list({ pipeline, goldenSet, version, purpose: 'sentinel', limit: 1 });
  // Queries with forbidden documents are always included, in addition to the configured number, so that the next
  // sentinel finds any leak.
  const forbidding = await context.db.golden.sets.withForbidden(goldenSet, version);
  const wanted = Math.min(count, full.queriesTotal - forbidding.length);
  if (before?.queryIds?.length === wanted + forbidding.length) return before.queryIds;
  const recent = await context.db.golden.runs.list({
    pipeline,
    goldenSet,
    version,
    status: 'completed',
    limit: HISTORY_RUNS,
  });
  const queries = (await context.db.golden.sets.queries(goldenSet, version)).filter(
    ({ forbidden }) => forbidden === undefined,
  );
  const k = Math.max(...settings.cutoffs);
  const history: Float64Array[] = [];
  for (const { id } of recent) {
    const answers = await context.db.golden.runs.answers(id);
    history.push(scoresBy({ measure: 'ndcg', k }, queries, answers, settings.relevanceLevel));
  }
  const stale = new Set((await context.db.golden.runs.staleLabels(full.id)).map(({ queryId }) => queryId));
  return [...chooseSentinel(queries, history, stale, settings, wanted), ...forbidding];
}

/** Records ticks between the last handled tick and this one as missed. Starts no runs for these ticks. */
async function noteMissed(context: Context, series: TickSeries, cron: Cron | null, plannedAt: Date): Promise<void> {
  const last = cron === null ? null : await context.db.golden.ticks.last(series);
  if (cron === null || last === null) return;
  const before = latestOccurrence(cron, new Date(plannedAt.getTime() - 1));
  if (before <= last) return;
  const from = new Date(Math.max(last.getTime(), plannedAt.getTime() - LOOK_BACK_MS));
  const recent = occurrencesBetween(cron, from, plannedAt);
  const missed = recent.length === 0 ? [before] : recent;
  context.logger.warn('scheduled golden runs were missed; only the latest of them starts now', {
    ...toDocument(series),
    missed: missed.length,
  });
  await context.db.golden.ticks.skip(series, missed, 'missed', context.clock.now());
}
