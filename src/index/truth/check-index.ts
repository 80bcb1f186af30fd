/** Compares the store with the manifest, and stored vectors with new embeddings, in rounds that can be resumed. */

import { z } from 'zod';
import type { Embedder } from '../../connectors/embedders/embedder.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import { rowOf } from '../../math/vector/matrix.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { defineJob, type JobDefinition } from '../../platform/queue/job-queue.ts';
import { gapNow, NoValueError, vectorsOf } from '../probes/probes.ts';
import { measureIndex, measuresOfPhase } from './measure-index.ts';
import type { IndexPlan } from './plan.ts';
import {
  chunksOf,
  confirmOrphans,
  createThrottledStore,
  findOrphans,
  inStore,
  type PhaseRun,
  probeChunks,
  probeMissing,
} from './probe-phases.ts';
import { type Phase, type ProbedDocument, phases, type Round } from './rounds-table.ts';
import { hasVersion, isOfOtherModel } from './rules/findings.ts';
import { readManifestLine } from './rules/manifest-line.ts';
import { SECOND_STAGE, twoStageSample } from './rules/probe-estimates.ts';

/**
 * Compares the vectors of a few chunks with new embeddings. Runs at most once an hour, because embedding is expensive
 * and sampling may read the whole store.
 */
async function compareModels(run: PhaseRun): Promise<void> {
  const { context, plan, round, save } = run;
  const { embedder, embed, pipeline } = plan;
  if (embedder === null || embed === 0) return;
  const last = await context.db.index.rounds.lastTally(pipeline, 'other_model');
  if (last !== null && round.startedAt.getTime() - last.getTime() < 0.9 * HOUR_MS) return;
  let seed = Math.floor(context.clock.now().getTime() / 1000);
  // Includes the chunks of both sampling stages, because the measure combines all chunks that were checked in a day.
  const documents: ProbedDocument[] = [];
  const check = async (n: number) => {
    const chunks = await drawChunks(run, n, seed);
    seed += 1;
    const foreign = await confirmForeign(run, embedder, chunks);
    const ids = chunks.map(({ id }) => id);
    const segmentOf = await context.db.index.documents.segmentsOf(pipeline, ids);
    documents.push(
      ...chunks.map((chunk) => ({ id: chunk.id, segment: segmentOf(chunk.id), isWrong: foreign.includes(chunk) })),
    );
    return { tally: { n: chunks.length, found: foreign.length } };
  };
  // If vectors from another model have been found, takes a large sample. A few rounds then show whether these vectors
  // were replaced.
  const known = (await context.db.index.rounds.countFindings(pipeline)).has('other_model');
  await (known ? check(SECOND_STAGE * embed) : twoStageSample(embed, check));
  await save({ checked: [{ kind: 'other_model', documents }], position: null });
}

type DrawnChunk = Awaited<ReturnType<typeof drawChunks>>[number];

async function drawChunks({ plan, throttled, signal }: PhaseRun, n: number, seed: number) {
  const sample = await throttled.call('sample', () => plan.store.sample({ n, seed, withContent: true }, signal));
  const drawn = sample.ids.flatMap((id, row) => {
    const content = sample.contents[row] ?? null;
    if (content === null || content === '') return [];
    return [{ id, text: `${plan.embedPrefix}${content}`, stored: rowOf(sample.vectors, row) }];
  });
  if (drawn.length === 0)
    throw new NoValueError('unsupported', 'The store returns no chunk texts; set vector_store.content.');
  return drawn;
}

/**
 * Embeds chunks a second time if their new vectors differ from the stored vectors, because a single difference may be
 * due to a non-deterministic embedder.
 */
async function confirmForeign(
  run: PhaseRun,
  embedder: Embedder,
  chunks: readonly DrawnChunk[],
): Promise<readonly DrawnChunk[]> {
  const first = await findForeign(run, embedder, chunks);
  return first.length === 0 ? first : findForeign(run, embedder, first);
}

async function findForeign(
  { plan, signal }: PhaseRun,
  embedder: Embedder,
  chunks: readonly DrawnChunk[],
): Promise<readonly DrawnChunk[]> {
  const texts = chunks.map(({ text }) => text);
  const [again = [], repeated = []] = await Promise.all(
    [texts, texts].map((some) => vectorsOf(embedder, some, signal)),
  );
  return chunks.filter(({ stored }, place) => {
    const [one, other] = [again[place], repeated[place]];
    if (one === undefined || other === undefined) return false;
    return isOfOtherModel({ stored, again: one, repeated: other }, plan.minCosine);
  });
}

/** Stored position in the `manifest` phase. */
interface ReadPosition {
  readonly since: string;
  readonly next: string | null;
}

const MAX_ARRIVALS = 200;

/** @throws the errors of ManifestSource, and RecalldError manifest_unreadable if the manifest has no documents */
async function readManifest({ context, plan, round, save, signal }: PhaseRun): Promise<void> {
  const { db, clock, logger } = context;
  const { pipeline, manifest, hasVersions } = plan;
  const before = round.position as ReadPosition | null;
  // If the database crashed, the stored lines are gone and must be read again.
  const isResumed = before !== null && before.next !== null && (await db.index.documents.countLines(pipeline)) > 0;
  if (!isResumed) await db.index.documents.deleteLines(pipeline);
  const read = isResumed ? new Date(before.since) : clock.now();
  try {
    for await (const part of manifest(isResumed ? before.next : null, signal)) {
      signal.throwIfAborted();
      const lines = part.lines.filter(({ text }) => text.trim() !== '');
      await db.index.documents.storeLines(pipeline, lines.map(readManifestLine));
      const position: ReadPosition = { since: read.toISOString(), next: part.next };
      await save({ position });
    }
  } catch (error) {
    // After an error, the next attempt starts over.
    if (!signal.aborted) await save({ position: null });
    throw error;
  }
  if ((await db.index.documents.countLines(pipeline)) === 0) {
    await save({ position: null });
    const problem = 'Find out why the source of the manifest is empty.';
    throw new RecalldError('manifest_unreadable', `The manifest of ${pipeline} is empty. ${problem}`);
  }
  const options = { maxArrivals: MAX_ARRIVALS, hasVersions };
  const change = await db.index.documents.accept(pipeline, read, round.readAt, options);
  await db.index.rounds.recordManifest(pipeline, read, change.documents);
  logger.info('read an index manifest', { pipeline, ...change });
}

/** Stored position of a round, from which another worker can resume it. */
interface RoundPosition {
  /** True if the store can list its ids; in that case, all documents are checked. */
  readonly all: boolean;
  readonly at: unknown;
}

/** A worker that stores no step for this long is considered dead. */
const LEASE_MS = 5 * MINUTE_MS;

/**
 * Continues the round of a pipeline, or starts one. Skips phases that the store does not support, and defers the round
 * if the store fails or slows down. A continued round repeats a check only if the process was killed right after the
 * last check of a phase. The share then remains correct, because the tallies contain both results.
 *
 * @returns `busy` if another process is running the round
 * @throws the reason of `signal`, and RecalldError if the manifest cannot be read or the database does not respond
 */
export async function checkIndex(
  context: Context,
  plan: IndexPlan,
  signal: AbortSignal,
): Promise<'done' | 'deferred' | 'busy'> {
  const { db, clock } = context;
  const { pipeline } = plan;
  const now = clock.now();
  const leased = await db.index.rounds.lease(pipeline, now, new Date(now.getTime() + LEASE_MS));
  if (leased === null) return 'busy';
  let round = leased;
  const throttled = createThrottledStore(context, plan, signal);
  try {
    for (;;) {
      signal.throwIfAborted();
      const { phase } = round;
      const { all, at } = (round.position ?? { all: false, at: null }) as RoundPosition;
      const run: PhaseRun = {
        context,
        plan,
        round: { ...round, position: at },
        throttled,
        signal,
        save: (step) =>
          save(context, round, phase, { ...step, position: { all, at: step.position } satisfies RoundPosition }),
      };
      const outcome = await runPhase(run, phase, all);
      if (outcome === 'deferred') return outcome;
      const next = phases[phases.indexOf(phase) + 1];
      if (next === undefined) break;
      const position: RoundPosition = { all: outcome, at: null };
      await save(context, round, next, { position });
      const readAt = phase === 'manifest' ? await db.index.rounds.lastRead(pipeline) : round.readAt;
      round = { ...round, phase: next, position, readAt };
    }
    await db.index.rounds.end(pipeline, clock.now());
    return 'done';
  } catch (error) {
    if (error instanceof RecalldError && !signal.aborted) {
      if (error.code === 'manifest_unreadable' || error.kind === 'input') {
        const problem = { reason: 'manifest_unreadable', message: error.message };
        await db.measurements.record(phases.flatMap((phase) => gapsOf(context, plan, phase, problem)));
      }
    }
    throw error;
  } finally {
    await db.index.rounds.release(pipeline).catch(() => undefined);
  }
}

function save(context: Context, round: Round, phase: Phase, step: Parameters<PhaseRun['save']>[0]): Promise<void> {
  const now = context.clock.now();
  return context.db.index.rounds.save(round, phase, step, now, new Date(now.getTime() + LEASE_MS));
}

const phaseWork: Readonly<Record<Phase, (run: PhaseRun, all: boolean) => Promise<unknown>>> = {
  async suspects(run) {
    if (run.round.readAt !== null) return findOrphans(run);
    // Until a manifest has been read, every stored document looks like an orphan.
    await readManifest(run);
    return findOrphans({ ...run, round: { ...run.round, position: null } });
  },
  async manifest(run) {
    await readManifest(run);
    await run.context.db.index.rounds.deleteObsoleteFindings(run.plan.pipeline);
  },
  orphaned: confirmOrphans,
  missing: probeMissing,
  chunks: probeChunks,
  arrivals: checkArrivals,
  models: compareModels,
  measures: ({ context, plan, round }, all) => measureIndex(context, plan, round, all),
};

/**
 * Runs a phase. Skips the phase if the store does not support it, and defers the round if the phase cannot continue
 * now.
 *
 * @returns true if all ids in the store are checked in this round
 */
async function runPhase(run: PhaseRun, phase: Phase, all: boolean): Promise<boolean | 'deferred'> {
  const { context, plan } = run;
  try {
    const done = await phaseWork[phase](run, all);
    return phase === 'suspects' ? done === true : all;
  } catch (error) {
    if (!(error instanceof NoValueError)) throw error;
    await context.db.measurements.record(gapsOf(context, plan, phase, error));
    if (error.reason !== 'store_failed' && error.reason !== 'store_slow') return all;
    context.logger.warn('index check deferred', { pipeline: plan.pipeline, phase, reason: error.message });
    return 'deferred';
  }
}

function gapsOf(
  { clock }: Context,
  { pipeline, intervalMs }: IndexPlan,
  phase: Phase,
  { reason, message }: Pick<NoValueError, 'reason' | 'message'>,
): MeasurementOutcome[] {
  const now = clock.now();
  const windowStart = new Date(now.getTime() - intervalMs);
  return (measuresOfPhase[phase] ?? []).map((measure) => ({
    ...gapNow(pipeline, measure, now, reason, { message }),
    windowStart,
  }));
}

const MAX_WAITING = 1000;
/** Maximum number of documents per round whose versions are checked. Each call reads only a few documents. */
const MAX_VERSIONS = 200;

async function checkArrivals(run: PhaseRun): Promise<void> {
  const { documents } = run.context.db.index;
  const { pipeline } = run.plan;
  const waiting = await documents.waiting(pipeline, MAX_WAITING);
  const added = waiting.filter(({ version }) => version === null);
  const updated = waiting.filter(({ version }) => version !== null).slice(0, MAX_VERSIONS);
  const addedIds = added.map(({ id }) => id);
  const there = await inStore(run, addedIds);
  const chunks = await chunksOf(run, updated);
  const checks = [
    ...added.map((one) => ({ ...one, isThere: there.has(one.id) })),
    ...updated.map((one) => ({ ...one, isThere: hasVersion(chunks.get(one.id) ?? [], one.version ?? '') })),
  ];
  if (checks.length > 0) await documents.recordChecks(pipeline, checks, run.context.clock.now());
}

export const checkIndexJob = defineJob({
  name: 'check-index',
  does: 'Compares the store of a pipeline with its manifest, or continues a deferred round.',
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
    // The pipeline may have been removed from the config since the job was queued.
    if (plan !== undefined) await checkIndex(context, plan, signal);
  },
});

export const indexJobs: readonly JobDefinition<Context>[] = [checkIndexJob];
