/** One worker's part of a golden run that many share: take a batch, ask what of it has no answer, say that it is done. */

import { messageOf } from '../../text/error-message.ts';
import type { GoldenRun } from '../rules/run.ts';
import type { GoldenBatches } from '../sql/golden-batches.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { answerQueries } from './answer-queries.ts';
import { notAsked } from './ask-retriever.ts';
import { queriesOfBatch, queriesOfRun } from './queries-of-run.ts';
import type { RunGoldenSetDeps } from './run-golden-set.ts';

const LEASE_SECONDS = 10;
const RENEWAL_MS = 1000;

export interface AskBatchDeps extends RunGoldenSetDeps {
  readonly batches: GoldenBatches;
}

/**
 * What is left of the run: `more` batches that nobody asks yet, `others` that are still at theirs, or nothing, so that
 * the run can be ended.
 */
export type RunRemainder = 'more' | 'others' | 'nothing';

const BATCH_LOST = new Error('the run has ended or the batch was lost to another worker');

/**
 * Asks one batch. Killed at any line, another worker takes the batch over once its lease has run out and asks what has
 * no stored answer. When the retriever has gone away, the rest of the run is answered `not_asked` at once.
 *
 * @param lane tells this asker from the others of the same worker
 * @throws the reason of `signal`
 */
export async function askGoldenBatch(
  deps: AskBatchDeps,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  lane: string,
  signal: AbortSignal,
): Promise<RunRemainder> {
  const holder = `${deps.holder}-${lane}`;
  const batch = await deps.batches.claim(run.id, holder, LEASE_SECONDS);
  if (batch !== null) await askClaimed(deps, run, pipeline, batch, holder, signal);
  const { free, held } = await deps.batches.counts(run.id);
  if (free > 0) return 'more';
  return held > 0 ? 'others' : 'nothing';
}

async function askClaimed(
  deps: AskBatchDeps,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  batch: number,
  holder: string,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const renewal = renew(deps, run, batch, holder, stop).catch(() => undefined);
  try {
    const queries = await queriesOfBatch(deps.sets, run, batch);
    const ids = queries.map(({ id }) => id);
    const known = await deps.runs.answered(run.id, ids);
    const open = queries.filter(({ id }) => !known.has(id));
    const end = await answerQueries(deps, run, pipeline, open, holder, either);
    if (end === 'gave_up') await giveUp(deps, run);
    else await deps.batches.complete(run.id, batch);
  } catch (error) {
    await deps.batches.release(run.id, batch, holder).catch(() => undefined);
    if (stop.signal.reason !== BATCH_LOST || signal.aborted) throw error;
  } finally {
    stop.abort();
    await renewal;
  }
}

async function renew(
  deps: AskBatchDeps,
  run: GoldenRun,
  batch: number,
  holder: string,
  stop: AbortController,
): Promise<void> {
  while (!stop.signal.aborted) {
    await deps.clock.sleep(RENEWAL_MS, stop.signal);
    const isHeld = await deps.batches.renew(run.id, batch, holder, LEASE_SECONDS).catch((error: unknown) => {
      deps.logger.warn('the lease of a batch of a golden run could not be renewed', {
        run_id: run.id,
        reason: messageOf(error),
      });
      return true;
    });
    if (!isHeld) stop.abort(BATCH_LOST);
  }
}

/** Queries that others have in flight are answered too; theirs come too late to count. */
async function giveUp(deps: AskBatchDeps, run: GoldenRun): Promise<void> {
  const queries = await queriesOfRun(deps.sets, run);
  const known = await deps.runs.answered(
    run.id,
    queries.map(({ id }) => id),
  );
  const open = queries.filter(({ id }) => !known.has(id));
  await deps.runs.saveAnswers(run.id, open.map(notAsked));
  await deps.batches.completeAll(run.id);
}
