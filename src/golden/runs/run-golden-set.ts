/**
 * Executes golden runs. The set version and the settings of a run are fixed when the run starts. Workers then run the
 * remaining queries of the run, batch by batch or all at once, score the run and end it. Execution is idempotent and
 * resumable.
 */

import { randomBytes } from 'node:crypto';
import type { Context } from '../../core/context.ts';
import { messageOf, RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { confirmForbidden, type ForbiddenResults, forbiddenResults, isRestricted } from '../rules/forbidden-results.ts';
import type { GoldenSetVersion } from '../rules/golden-set.ts';
import { type GoldenRun, type QueryAnswer, type RunReason, runDeadlineMs } from '../rules/run.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import { type GoldenSchedule, scheduleOf, type WatchedPipeline } from '../watched-pipeline.ts';
import { answerQueries, askThrottled, notAsked } from './ask-retriever.ts';
import { finalizeGoldenRun } from './end-golden-run.ts';
import { versionsToRun } from './rotate-golden-set.ts';
import { queriesOfBatch, queriesOfRun } from './stored-runs.ts';

const BATCH_LEASE_SECONDS = 10;
const BATCH_RENEWAL_MS = 1000;

/**
 * Work that remains in a run. `more`: unclaimed batches. `others`: only batches that other workers have claimed.
 * `nothing`: no batches, so this worker can score and end the run.
 */
type RunRemainder = 'more' | 'others' | 'nothing';

/**
 * Claims one batch and runs the queries in it whose results are not stored yet. If this worker dies, another worker
 * takes over the batch when its lease expires. If the retriever is down, the remaining queries are recorded as
 * `not_asked`.
 *
 * @param lane distinguishes concurrent calls in the same worker
 * @throws the reason of `signal`
 */
export async function askGoldenBatch(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  lane: string,
  signal: AbortSignal,
): Promise<RunRemainder> {
  const holder = `${context.holder}-${lane}`;
  const batch = await context.db.golden.batches.claim(run.id, holder, BATCH_LEASE_SECONDS);
  if (batch !== null) await askClaimed(context, run, pipeline, batch, holder, signal);
  const { free, held } = await context.db.golden.batches.counts(run.id);
  if (free > 0) return 'more';
  return held > 0 ? 'others' : 'nothing';
}

async function askClaimed(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  batch: number,
  holder: string,
  signal: AbortSignal,
): Promise<void> {
  const lease: Lease = {
    runId: run.id,
    what: 'a batch of a golden run',
    everyMs: BATCH_RENEWAL_MS,
    renew: () => context.db.golden.batches.renew(run.id, batch, holder, BATCH_LEASE_SECONDS),
  };
  try {
    await whileHeld(context, lease, signal, async (held) => {
      const queries = await queriesOfBatch(context.db.golden.sets, run, batch);
      const open = await openQueries(context, run, queries);
      const end = await answerQueries(context, run, pipeline, open, holder, held);
      if (end === 'gave_up') await giveUp(context, run);
      else await context.db.golden.batches.complete(run.id, batch);
    });
  } catch (error) {
    await context.db.golden.batches.release(run.id, batch, holder).catch(() => undefined);
    if (error !== LEASE_LOST || signal.aborted) throw error;
  }
}

async function openQueries(context: Context, run: GoldenRun, queries: readonly GoldenQuery[]): Promise<GoldenQuery[]> {
  const ids = queries.map(({ id }) => id);
  const known = await context.db.golden.runs.answered(run.id, ids);
  return queries.filter(({ id }) => !known.has(id));
}

/**
 * Records all remaining queries as `not_asked`, including queries that other workers have already sent. The results of
 * queries that were already sent arrive too late and are not stored.
 */
async function giveUp(context: Context, run: GoldenRun): Promise<void> {
  const open = await openQueries(context, run, await queriesOfRun(context.db.golden.sets, run));
  await context.db.golden.runs.saveAnswers(run.id, open.map(notAsked));
  await context.db.golden.batches.completeAll(run.id);
}

const LEASE_SECONDS = 15;
/**
 * Interval at which the lease is renewed. If another process cancels the run, this worker stops within one interval.
 */
const LEASE_RENEWAL_MS = 4000;

export interface RunProgress {
  readonly answered: number;
  readonly total: number;
}

/** `held_elsewhere`: another worker has the lease, or the run had already ended. */
type RunGoldenSetOutcome = 'ended' | 'held_elsewhere';

/**
 * Claims the run, runs its remaining queries, and ends it. If this worker dies, the next call runs only the queries
 * whose results are not stored yet. If `signal` aborts, the lease is released and the run stays `running`.
 *
 * @throws the reason of `signal`
 */
export async function runGoldenSet(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
  onProgress: (progress: RunProgress) => void = () => undefined,
): Promise<RunGoldenSetOutcome> {
  if (!(await context.db.golden.runs.hold(run.id, context.holder, LEASE_SECONDS))) return 'held_elsewhere';
  const lease: Lease = {
    runId: run.id,
    what: 'a golden run',
    everyMs: LEASE_RENEWAL_MS,
    renew: () => context.db.golden.runs.hold(run.id, context.holder, LEASE_SECONDS),
  };
  try {
    const queries = await queriesOfRun(context.db.golden.sets, run);
    const holder = `${context.holder}-${run.id}`;
    const forbidden = await whileHeld(context, lease, signal, async (held) => {
      const open = await openQueries(context, run, queries);
      let answered = queries.length - open.length;
      const report = (): void => onProgress({ answered, total: queries.length });
      report();
      await answerQueries(context, run, pipeline, open, holder, held, () => {
        answered += 1;
        report();
      });
      return findForbidden(context, run, pipeline, queries, holder, held);
    });
    const end = await finalizeGoldenRun(context, run, pipeline, queries, forbidden, signal);
    return (await context.db.golden.runs.finish(run.id, end)) ? 'ended' : 'held_elsewhere';
  } catch (error) {
    await context.db.golden.runs.release(run.id, context.holder).catch(() => undefined);
    if (error === LEASE_LOST && !signal.aborted) return 'held_elsewhere';
    throw error;
  }
}

const LEASE_LOST = new Error('the run has ended, or another worker took over its lease');

interface Lease {
  readonly runId: string;
  readonly what: string;
  readonly everyMs: number;
  /** Renews the lease; resolves to false if the lease is lost. */
  readonly renew: () => Promise<boolean>;
}

/**
 * Renews the lease while the work is in progress. If the lease is lost or the run was cancelled, aborts the work.
 *
 * @throws the error of the work, or LEASE_LOST
 */
async function whileHeld<Result>(
  { clock, logger }: Context,
  { runId, what, everyMs, renew }: Lease,
  signal: AbortSignal,
  work: (held: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const renewing = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await clock.sleep(everyMs, stop.signal);
      const isHeld = await renew().catch((error: unknown) => {
        logger.warn(`the lease of ${what} could not be renewed`, { run_id: runId, reason: messageOf(error) });
        return true;
      });
      if (!isHeld) stop.abort(LEASE_LOST);
    }
  };
  const renewal = renewing().catch(() => undefined);
  try {
    return await work(AbortSignal.any([signal, stop.signal]));
  } catch (error) {
    throw stop.signal.aborted ? LEASE_LOST : error;
  } finally {
    stop.abort();
    await renewal;
  }
}

/** Finds the forbidden documents of a run; null if neither the set nor an isolation rule forbids documents. */
async function findForbidden(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  queries: readonly GoldenQuery[],
  holder: string,
  signal: AbortSignal,
): Promise<ForbiddenResults | null> {
  const { isolation } = pipeline;
  if (!queries.some((query) => isRestricted(query, isolation))) return null;
  const answers = await context.db.golden.runs.answers(run.id);
  const affected = new Set(forbiddenResults(queries, answers, isolation).map(({ queryId }) => queryId));
  const suspects = queries.filter(({ id }) => affected.has(id));
  const again: QueryAnswer[] = [];
  await askThrottled(context, run, pipeline, suspects, holder, (answer) => again.push(answer), signal);
  return confirmForbidden(queries, answers, again, isolation);
}

/** Reason for a full run that a user starts. */
export const manualRun: RunReason = {
  trigger: 'manual',
  scheduledFor: null,
  purpose: 'full',
  cause: null,
  queryIds: null,
};

/**
 * Creates a manual run of the latest version of the set. While a rotation to the latest version is open, recalld shows
 * the run but does not export its scores.
 *
 * @throws RecalldError golden_set_unknown, golden_set_empty
 */
export async function startGoldenRun(context: Context, pipeline: WatchedPipeline, name: string): Promise<GoldenRun> {
  const schedule = scheduleOf(pipeline, name);
  const set = await latestVersion(context.db.golden.sets, name);
  await versionsToRun(context, pipeline.name, schedule, set);
  const run = await createGoldenRun(context, pipeline, schedule, set.version, manualRun);
  if (run === null) throw new Error('the database refused a manual run');
  return run;
}

/** @throws RecalldError golden_set_unknown, golden_set_empty */
export async function latestVersion(sets: GoldenSets, name: string): Promise<GoldenSetVersion> {
  const set = await sets.latest(name);
  if (set === null) {
    throw new RecalldError(
      'golden_set_unknown',
      `There is no golden set "${name}"; import one with \`recalld golden import PATH --set ${name}\`.`,
    );
  }
  if (set.queries === 0) {
    throw new RecalldError(
      'golden_set_empty',
      `${set.name} version ${set.version} has no queries left, because all were erased. Import a new version.`,
    );
  }
  return set;
}

/**
 * @returns the new run; null if the tick already has a run, or if a full run after a failed sentinel is still in
 *   progress
 */
export async function createGoldenRun(
  { db, clock, newRunId }: Context,
  pipeline: WatchedPipeline,
  { set, settings }: GoldenSchedule,
  version: number,
  reason: RunReason,
): Promise<GoldenRun | null> {
  const startedAt = clock.now();
  const requests = await db.golden.sets.requests(set, version, reason.queryIds);
  const id = newRunId(startedAt);
  const isCreated = await db.golden.runs.create({
    id,
    pipeline: pipeline.name,
    goldenSet: set,
    goldenSetVersion: version,
    ...reason,
    settings,
    startedAt,
    deadlineAt: new Date(startedAt.getTime() + runDeadlineMs(requests, settings, pipeline.timeoutMs)),
  });
  return isCreated ? db.golden.runs.find(id) : null;
}

/** Returns an id that sorts by time and is short enough to type: `20261120T154500Z-3f9a1c2b`. */
export function newRunId(now: Date): string {
  return `${now
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '')}-${randomBytes(4).toString('hex')}`;
}
