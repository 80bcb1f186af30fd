/**
 * One round over the index of a pipeline, and the job that makes them: the manifest is read into the database, in
 * bounded memory and from where it was when the process that read it ended; the store is held against it, and stored
 * vectors against those that the embedder makes of the stored texts now.
 */

import { z } from 'zod';
import type { Embedder } from '../../connectors/embedders/embedder.ts';
import type { StoredChunk } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import { rowOf } from '../../math/vector/matrix.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { defineJob, type JobDefinition } from '../../platform/queue/job-queue.ts';
import type { Waiting } from './documents-table.ts';
import { measureIndex, measuresOfPhase } from './measure-index.ts';
import type { IndexPlan } from './plan.ts';
import {
  confirmOrphans,
  createGuest,
  DeferredError,
  findOrphans,
  inStore,
  type Look,
  lookAtChunks,
  lookForMissing,
} from './probe-phases.ts';
import { type LookedAt, type Phase, phases, type Round } from './rounds-table.ts';
import { hasVersion, isOfOtherModel } from './rules/findings.ts';
import { readManifestLine } from './rules/manifest-line.ts';
import { twoStageSample } from './rules/probe-estimates.ts';

interface DrawnChunk {
  readonly id: string;
  readonly text: string;
  readonly stored: Float32Array;
}

/** A handful, once an hour: embedding costs, and a sample may read the whole store. */
async function compareModels(look: Look): Promise<void> {
  const { context, plan, round, save } = look;
  const { embedder, embed, pipeline } = plan;
  if (embedder === null || embed === 0) return;
  const last = await context.db.index.rounds.lastTally(pipeline, 'other_model');
  if (last !== null && round.startedAt.getTime() - last.getTime() < 0.9 * HOUR_MS) return;
  let seed = Math.floor(context.clock.now().getTime() / 1000);
  const documents: LookedAt[] = [];
  // Of a day all draws count, the first of an hour too.
  await twoStageSample(embed, async (n) => {
    const chunks = await drawChunks(look, n, seed);
    seed += 1;
    const foreign = await foreignAmong(look, embedder, chunks);
    const segments = await context.db.index.documents.segmentsOf(
      pipeline,
      chunks.map(({ id }) => id),
    );
    const isWrong = (chunk: DrawnChunk): boolean => foreign.includes(chunk);
    documents.push(
      ...chunks.map((chunk) => ({ id: chunk.id, segment: segments.get(chunk.id) ?? null, isWrong: isWrong(chunk) })),
    );
    return { tally: { n: chunks.length, found: foreign.length } };
  });
  await save({ looked: [{ kind: 'other_model', documents }], position: null });
  // Nobody can look at a chunk again by its id: what no draw of a day has met is as old as the measure.
  await context.db.index.rounds.forgetUnseen(pipeline, 'other_model', new Date(round.startedAt.getTime() - DAY_MS));
}

async function drawChunks({ plan, guest, signal }: Look, n: number, seed: number): Promise<readonly DrawnChunk[]> {
  const sample = await guest.ask('sample', () => plan.store.sample({ n, seed, withContent: true }, signal));
  const drawn = sample.ids.flatMap((id, row) => {
    const content = sample.contents[row] ?? null;
    if (content === null || content === '') return [];
    return [{ id, text: `${plan.embedPrefix}${content}`, stored: rowOf(sample.vectors, row) }];
  });
  if (drawn.length === 0) throw new DeferredError('unsupported', 'The store gives no texts; set vector_store.content.');
  return drawn;
}

/** Those alone that are foreign when their texts are embedded a second time too: one answer may be of a moment. */
async function foreignAmong(
  look: Look,
  embedder: Embedder,
  chunks: readonly DrawnChunk[],
): Promise<readonly DrawnChunk[]> {
  const first = await compared(look, embedder, chunks);
  return first.length === 0 ? first : compared(look, embedder, first);
}

async function compared(
  { plan, signal }: Look,
  embedder: Embedder,
  chunks: readonly DrawnChunk[],
): Promise<readonly DrawnChunk[]> {
  const texts = chunks.map(({ text }) => text);
  const [again = [], repeated = []] = await Promise.all(
    [texts, texts].map(async (some) => {
      const answer = await embedder.embed(some, signal);
      if (answer.kind === 'failed') throw new DeferredError('embedder_failed', answer.message);
      return answer.vectors;
    }),
  );
  return chunks.filter(({ stored }, place) => {
    const [one, other] = [again[place], repeated[place]];
    if (one === undefined || other === undefined) return false;
    return isOfOtherModel({ stored, again: one, repeated: other }, plan.leastCosine);
  });
}

/** Where reading stands, as the position of a round. */
interface ReadPosition {
  readonly since: string;
  readonly next: string | null;
  readonly lines: number;
}

/** New versions that are waited for, of each reading. */
const MAX_ARRIVALS = 200;

/**
 * @param keep stores where reading stands
 * @throws RecalldError as ManifestSource, and manifest_unreadable for one without a document
 */
async function readManifest(
  { db, clock, logger }: Context,
  { pipeline, manifest, tellsVersions }: Pick<IndexPlan, 'pipeline' | 'manifest' | 'tellsVersions'>,
  round: Round,
  keep: (position: unknown) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const before = round.position as ReadPosition | null;
  // Lines that a crash of the database has taken are read again.
  const goesOn = before !== null && before.next !== null && (await db.index.documents.countLines(pipeline)) > 0;
  if (!goesOn) await db.index.documents.forgetLines(pipeline);
  const read = goesOn ? new Date(before.since) : clock.now();
  let lines = goesOn ? before.lines : 0;
  try {
    for await (const part of manifest(goesOn ? before.next : null, signal)) {
      signal.throwIfAborted();
      await db.index.documents.keepLines(
        pipeline,
        part.lines.filter(({ text }) => text.trim() !== '').map(readManifestLine),
      );
      lines += part.lines.length;
      await keep({ since: read.toISOString(), next: part.next, lines } satisfies ReadPosition);
    }
  } catch (error) {
    // What could not be gone on with begins anew the next time.
    if (!signal.aborted) await keep(null);
    throw error;
  }
  if ((await db.index.documents.countLines(pipeline)) === 0) {
    await keep(null);
    const problem = 'An index without documents would have nothing to lose: look why it is empty.';
    throw new RecalldError('manifest_unreadable', `The manifest of ${pipeline} names no document. ${problem}`);
  }
  const change = await db.index.documents.accept(pipeline, {
    read,
    before: round.readAt,
    mostArrivals: MAX_ARRIVALS,
    tellsVersions,
  });
  await db.index.rounds.manifestRead(pipeline, read, change.documents);
  logger.info('the manifest of an index was read', { pipeline, ...change });
}

/** What a round knows as it goes on. */
interface RoundPosition {
  /** Whether the store lists its ids, so that all of them are looked at. */
  readonly all: boolean;
  /** Where the phase goes on. */
  readonly at: unknown;
}

/** A worker that stores no step for so long is given up. */
const HELD_MS = 5 * MINUTE_MS;

/**
 * Goes on with the round of a pipeline, or begins one. What the store cannot do is left out; where it fails or has slowed
 * down the round is put off, and the next call goes on with it. Nothing that was looked at is looked at twice.
 *
 * @returns `held` while another process is at it
 * @throws the reason of `signal` when it aborts, and RecalldError for a manifest that cannot be read or the database
 */
export async function checkIndex(
  context: Context,
  plan: IndexPlan,
  signal: AbortSignal,
): Promise<'done' | 'put_off' | 'held'> {
  const { db, clock, logger } = context;
  const { pipeline } = plan;
  const now = clock.now();
  const taken = await db.index.rounds.take(pipeline, now, new Date(now.getTime() + HELD_MS));
  if (taken === null) return 'held';
  let round = taken;
  const guest = createGuest(context, plan, signal);
  try {
    for (;;) {
      signal.throwIfAborted();
      const { phase } = round;
      const { all, at } = (round.position ?? { all: false, at: null }) as RoundPosition;
      const look: Look = {
        context,
        plan,
        round: { ...round, position: at },
        guest,
        signal,
        save: (step) =>
          save(context, round, phase, { ...step, position: { all, at: step.position } satisfies RoundPosition }),
      };
      const outcome = await runPhase(look, phase, all);
      if (outcome.kind === 'put_off') {
        await context.db.measurements.record(gapsOf(look, phase, outcome.why));
        logger.warn('a round over an index was put off', { pipeline, phase, reason: outcome.why.message });
        return 'put_off';
      }
      const next = phases[phases.indexOf(phase) + 1];
      if (next === undefined) break;
      const position: RoundPosition = { all: outcome.all, at: null };
      await save(context, round, next, { position });
      const readAt = phase === 'manifest' ? await db.index.rounds.lastRead(pipeline) : round.readAt;
      round = { ...round, phase: next, position, readAt };
    }
    await db.index.rounds.end(pipeline, clock.now());
    return 'done';
  } catch (error) {
    if (error instanceof RecalldError && !signal.aborted) {
      const reason = error.code === 'manifest_unreadable' || error.kind === 'input' ? 'manifest_unreadable' : null;
      if (reason !== null)
        await context.db.measurements.record(
          phases.flatMap((phase) => gaps(context, plan, phase, reason, error.message)),
        );
    }
    throw error;
  } finally {
    await db.index.rounds.release(pipeline).catch(() => undefined);
  }
}

function save(context: Context, round: Round, phase: Phase, step: Parameters<Look['save']>[0]): Promise<void> {
  const now = context.clock.now();
  return context.db.index.rounds.save(round, phase, step, now, new Date(now.getTime() + HELD_MS));
}

type PhaseOutcome =
  | { readonly kind: 'done'; readonly all: boolean }
  | { readonly kind: 'put_off'; readonly why: DeferredError };

/** What a phase cannot do at all is left out of the round; what it cannot do now puts the round off. */
async function runPhase(look: Look, phase: Phase, all: boolean): Promise<PhaseOutcome> {
  try {
    return { kind: 'done', all: await doPhase(look, phase, all) };
  } catch (error) {
    if (!(error instanceof DeferredError)) throw error;
    if (error.reason === 'store_failed' || error.reason === 'store_slow') return { kind: 'put_off', why: error };
    await look.context.db.measurements.record(gapsOf(look, phase, error));
    return { kind: 'done', all };
  }
}

/** @returns whether all ids of the store are looked at in this round */
async function doPhase(look: Look, phase: Phase, all: boolean): Promise<boolean> {
  const { context, plan, round, signal } = look;
  const keep = (position: unknown): Promise<void> => look.save({ position });
  switch (phase) {
    case 'strangers': {
      if (round.readAt !== null) return findOrphans(look);
      // Before the first manifest everything would be a stranger.
      await readManifest(context, plan, round, keep, signal);
      return findOrphans({ ...look, round: { ...round, position: null } });
    }
    case 'manifest':
      await readManifest(context, plan, round, keep, signal);
      await context.db.index.rounds.forgetGone(plan.pipeline);
      return all;
    case 'orphaned':
      await confirmOrphans(look);
      return all;
    case 'missing':
      await lookForMissing(look, all);
      return all;
    case 'chunks':
      await lookAtChunks(look);
      return all;
    case 'arrivals':
      await followArrivals(look);
      return all;
    case 'models':
      await compareModels(look);
      return all;
    case 'measures':
      await measureIndex(context, plan, round, all);
      return all;
  }
}

function gapsOf({ context, plan }: Look, phase: Phase, { reason, message }: DeferredError): MeasurementOutcome[] {
  return gaps(context, plan, phase, reason, message);
}

function gaps(context: Context, plan: IndexPlan, phase: Phase, reason: string, message: string): MeasurementOutcome[] {
  const now = context.clock.now();
  return (measuresOfPhase[phase] ?? []).map((measure) => ({
    kind: 'no_data',
    pipeline: plan.pipeline,
    measure,
    segment: ALL_SEGMENT,
    windowStart: new Date(now.getTime() - plan.intervalMs),
    windowEnd: now,
    measuredAt: now,
    reason,
    details: { message },
  }));
}

/** Of those that wait, the ones that were looked for longest ago. */
const MAX_LOOKED_FOR = 1000;
const DOCUMENTS_PER_CALL = 20;
/** Chunks are read where the version matters, which costs a call for a few documents. */
const MAX_VERSIONS = 200;

async function followArrivals(look: Look): Promise<void> {
  const { context, plan, guest, signal } = look;
  const waiting = await context.db.index.documents.waiting(plan.pipeline, MAX_LOOKED_FOR);
  const fresh = waiting.filter(({ version }) => version === null);
  const renewed = waiting.filter(({ version }) => version !== null).slice(0, MAX_VERSIONS);
  const looked: (Waiting & { readonly isThere: boolean })[] = [];
  const there = await inStore(
    look,
    fresh.map(({ id }) => id),
  );
  looked.push(...fresh.map((one) => ({ ...one, isThere: there.has(one.id) })));
  for (let start = 0; start < renewed.length; start += DOCUMENTS_PER_CALL) {
    const some = renewed.slice(start, start + DOCUMENTS_PER_CALL);
    const ids = some.map(({ id }) => id);
    const chunks: readonly StoredChunk[] = await guest.ask('look-up of chunks', () => plan.store.chunks(ids, signal));
    looked.push(
      ...some.map((one) => {
        const own = chunks.filter(({ id }) => id === one.id);
        return { ...one, isThere: one.version !== null && hasVersion(own, one.version) };
      }),
    );
  }
  if (looked.length > 0) await context.db.index.documents.looked(plan.pipeline, looked, context.clock.now());
}

export const checkIndexJob = defineJob({
  name: 'check-index',
  does: 'Holds what the store of a pipeline holds against its manifest; goes on where the round before was put off.',
  payload: z.strictObject({ pipeline: z.string().min(1) }),
  concurrency: 2,
  attempts: 1,
  backoffMs: 1000,
  timeoutMs: HOUR_MS,
  retainSeconds: 600,
  cron: null,
  async handle(context: Context, { pipeline }, signal) {
    const { indexPlans } = context;
    const plan = indexPlans.find((one) => one.pipeline === pipeline);
    // The config may have another one by now.
    if (plan !== undefined) await checkIndex(context, plan, signal);
  },
});

export const indexJobs: readonly JobDefinition<Context>[] = [checkIndexJob];
