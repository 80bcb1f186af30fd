/**
 * Golden runs at work. One starts with the set version and settings that it will be read by; then, batch by batch or
 * whole: ask what has no answer yet, score, judge, end. Idempotent and resumable.
 */

import { randomBytes } from 'node:crypto';
import type { Context } from '../../core/context.ts';
import { messageOf, RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import type { GoldenSetVersion } from '../rules/golden-set.ts';
import { type GoldenRun, type NewRun, runDeadlineMs } from '../rules/run.ts';
import { confirmForbidden, type ForbiddenResults, forbiddenResults } from '../rules/unwanted-answers.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import type { GoldenSchedule, WatchedPipeline } from '../watched-pipeline.ts';
import { answerQueries, askAgain, notAsked } from './ask-retriever.ts';
import { finalizeGoldenRun } from './end-golden-run.ts';
import { versionsToRun } from './rotate-golden-set.ts';
import { queriesOfBatch, queriesOfRun } from './stored-runs.ts';

/** One worker's part of a golden run that many share: take a batch, ask what of it has no answer, say that it is done. */
const BATCH_LEASE_SECONDS = 10;
const BATCH_RENEWAL_MS = 1000;

/**
 * What is left of the run: `more` batches that nobody asks yet, `others` that are still at theirs, or nothing, so that
 * the run can be ended.
 */
type RunRemainder = 'more' | 'others' | 'nothing';

const BATCH_LOST = new Error('the run has ended or the batch was lost to another worker');

/**
 * Asks one batch. Killed at any line, another worker takes the batch over once its lease has run out and asks what has
 * no stored answer. When the retriever has gone away, the rest of the run is answered `not_asked` at once.
 *
 * @param lane tells this asker from the others of the same worker
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
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const lease: Lease = {
    runId: run.id,
    what: 'a batch of a golden run',
    everyMs: BATCH_RENEWAL_MS,
    renew: () => context.db.golden.batches.renew(run.id, batch, holder, BATCH_LEASE_SECONDS),
    lost: BATCH_LOST,
  };
  const renewal = keepLease(context, lease, stop).catch(() => undefined);
  try {
    const queries = await queriesOfBatch(context.db.golden.sets, run, batch);
    const ids = queries.map(({ id }) => id);
    const known = await context.db.golden.runs.answered(run.id, ids);
    const open = queries.filter(({ id }) => !known.has(id));
    const end = await answerQueries(context, run, pipeline, open, holder, either);
    if (end === 'gave_up') await giveUp(context, run);
    else await context.db.golden.batches.complete(run.id, batch);
  } catch (error) {
    await context.db.golden.batches.release(run.id, batch, holder).catch(() => undefined);
    if (stop.signal.reason !== BATCH_LOST || signal.aborted) throw error;
  } finally {
    stop.abort();
    await renewal;
  }
}

/** Queries that others have in flight are answered too; theirs come too late to count. */
async function giveUp(context: Context, run: GoldenRun): Promise<void> {
  const queries = await queriesOfRun(context.db.golden.sets, run);
  const known = await context.db.golden.runs.answered(
    run.id,
    queries.map(({ id }) => id),
  );
  const open = queries.filter(({ id }) => !known.has(id));
  await context.db.golden.runs.saveAnswers(run.id, open.map(notAsked));
  await context.db.golden.batches.completeAll(run.id);
}

const LEASE_SECONDS = 15;
/** A run that was cancelled elsewhere stops here within so long. */
const LEASE_RENEWAL_MS = 4000;

export interface RunProgress {
  readonly answered: number;
  readonly total: number;
}

/** `held_elsewhere`: another worker is at it, or it had ended before. */
type RunGoldenSetOutcome = 'ended' | 'held_elsewhere';

/**
 * Takes the run over, asks the queries that have no answer, and ends the run. Killed at any line, the next call goes
 * on where the stored answers end. When `signal` aborts the lease is given back and the run stays `running`.
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
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  try {
    const queries = await queriesOfRun(context.db.golden.sets, run);
    const lease: Lease = {
      runId: run.id,
      what: 'a golden run',
      everyMs: LEASE_RENEWAL_MS,
      renew: () => context.db.golden.runs.hold(run.id, context.holder, LEASE_SECONDS),
      lost: LEASE_LOST,
    };
    const renewal = keepLease(context, lease, stop).catch(() => undefined);
    let forbidden: ForbiddenResults | null;
    try {
      await answerOpenQueries(context, run, pipeline, queries, either, onProgress);
      forbidden = await findForbidden(context, run, pipeline, queries, either);
    } finally {
      stop.abort();
      await renewal;
    }
    const end = await finalizeGoldenRun(context, run, pipeline, queries, forbidden, signal);
    return (await context.db.golden.runs.finish(run.id, end)) ? 'ended' : 'held_elsewhere';
  } catch (error) {
    await context.db.golden.runs.release(run.id, context.holder).catch(() => undefined);
    if (stop.signal.aborted && !signal.aborted && stop.signal.reason === LEASE_LOST) return 'held_elsewhere';
    throw error;
  }
}

const LEASE_LOST = new Error('the lease of the run was lost to another worker');

interface Lease {
  readonly runId: string;
  readonly what: string;
  readonly everyMs: number;
  /** False when it is lost. */
  renew(): Promise<boolean>;
  readonly lost: Error;
}

/** Renews until `stop` aborts; when the lease is lost, or the run was cancelled, it is `stop` that it aborts. */
async function keepLease({ clock, logger }: Context, lease: Lease, stop: AbortController): Promise<void> {
  while (!stop.signal.aborted) {
    await clock.sleep(lease.everyMs, stop.signal);
    const isHeld = await lease.renew().catch((error: unknown) => {
      const context = { run_id: lease.runId, reason: messageOf(error) };
      logger.warn(`the lease of ${lease.what} could not be renewed`, context);
      return true;
    });
    if (!isHeld) stop.abort(lease.lost);
  }
}

/** Null when the set forbids nothing. */
async function findForbidden(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  queries: readonly GoldenQuery[],
  signal: AbortSignal,
): Promise<ForbiddenResults | null> {
  if (queries.every(({ forbidden = [] }) => forbidden.length === 0)) return null;
  const answers = await context.db.golden.runs.answers(run.id);
  const brought = new Set(forbiddenResults(queries, answers).map(({ queryId }) => queryId));
  const suspects = queries.filter(({ id }) => brought.has(id));
  const again = await askAgain(context, run, pipeline, suspects, `${context.holder}-${run.id}`, signal);
  return confirmForbidden(queries, answers, again);
}

async function answerOpenQueries(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  queries: readonly GoldenQuery[],
  signal: AbortSignal,
  onProgress: (progress: RunProgress) => void,
): Promise<void> {
  const ids = queries.map(({ id }) => id);
  const known = await context.db.golden.runs.answered(run.id, ids);
  const open = queries.filter(({ id }) => !known.has(id));
  let answered = queries.length - open.length;
  onProgress({ answered, total: queries.length });
  await answerQueries(context, run, pipeline, open, `${context.holder}-${run.id}`, signal, () =>
    onProgress({ answered: ++answered, total: queries.length }),
  );
}

/** What sets a run apart from one by hand of the latest version. */
export type RunReason = Pick<NewRun, 'trigger' | 'scheduledFor' | 'purpose' | 'cause' | 'queryIds'>;

export const byHand: RunReason = {
  trigger: 'manual',
  scheduledFor: null,
  purpose: 'full',
  cause: null,
  queryIds: null,
};

/**
 * Makes a run by hand of the latest version of the set. When that version has yet to take over from an older one, the
 * run is shown, and not exported.
 *
 * @returns the run's id
 * @throws RecalldError golden_set_unknown, golden_set_empty
 */
export async function startGoldenRun(
  context: Context,
  pipeline: WatchedPipeline,
  schedule: GoldenSchedule,
): Promise<string> {
  const set = await latestVersion(context.db.golden.sets, schedule.set);
  await versionsToRun(context, pipeline.name, schedule, set);
  const id = await createGoldenRun(context, pipeline, schedule, set.version, set.queries, byHand);
  if (id === null) throw new Error('a run by hand was refused by the database');
  return id;
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
      `${set.name} version ${set.version} holds no queries, all were erased; import a new version.`,
    );
  }
  return set;
}

/**
 * @param queries that the run will ask
 * @returns null when the tick has a run already, or a run that a sentinel asked for is still running
 */
export async function createGoldenRun(
  context: Context,
  pipeline: WatchedPipeline,
  schedule: GoldenSchedule,
  version: number,
  queries: number,
  reason: RunReason,
): Promise<string | null> {
  const startedAt = context.clock.now();
  const id = context.newRunId(startedAt);
  const created = await context.db.golden.runs.create({
    id,
    pipeline: pipeline.name,
    goldenSet: schedule.set,
    goldenSetVersion: version,
    ...reason,
    settings: schedule.settings,
    startedAt,
    deadlineAt: new Date(startedAt.getTime() + runDeadlineMs(queries, schedule.settings, pipeline.timeoutMs)),
  });
  return created ? id : null;
}

/** Sorts by time and is short enough to type: `20261120T154500Z-3f9a1c2b`. */
export function newRunId(now: Date): string {
  return `${now
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '')}-${randomBytes(4).toString('hex')}`;
}
