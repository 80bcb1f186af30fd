/** One round over the index of a pipeline: what its store holds against what it should hold. */
import { RecalldError } from '../errors.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import { ALL_SEGMENT } from '../model.ts';
import type { StoredChunk } from '../stores/vector-store.ts';
import { MINUTE_MS } from '../time.ts';
import { compareModels } from './compare-models.ts';
import type { Waiting } from './documents-table.ts';
import { createGuest, PutOff } from './guest.ts';
import { inStore, type Look } from './look.ts';
import { lookAtChunks } from './look-at-chunks.ts';
import { lookForMissing } from './look-for-missing.ts';
import { confirmOrphans, meetStrangers } from './look-for-orphans.ts';
import { measureIndex, measuresOfPhase } from './measure-index.ts';
import type { IndexDeps, IndexPlan } from './plan.ts';
import { readManifest } from './read-manifest.ts';
import { type Phase, phases, type Round } from './rounds-table.ts';
import { hasVersion } from './rules/versions.ts';

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
  deps: IndexDeps,
  plan: IndexPlan,
  signal: AbortSignal,
): Promise<'done' | 'put_off' | 'held'> {
  const { indexRounds: rounds, clock, logger } = deps;
  const { pipeline } = plan;
  const now = clock.now();
  const taken = await rounds.take(pipeline, now, new Date(now.getTime() + HELD_MS));
  if (taken === null) return 'held';
  let round = taken;
  const guest = createGuest(clock, plan.callsPerSecond, signal);
  try {
    for (;;) {
      signal.throwIfAborted();
      const { phase } = round;
      const { all, at } = (round.position ?? { all: false, at: null }) as RoundPosition;
      const look: Look = {
        deps,
        plan,
        round: { ...round, position: at },
        guest,
        signal,
        save: (step) =>
          save(deps, round, phase, { ...step, position: { all, at: step.position } satisfies RoundPosition }),
      };
      const outcome = await runPhase(look, phase, all);
      if (outcome.kind === 'put_off') {
        await deps.measurements.record(gapsOf(look, phase, outcome.why));
        logger.warn('a round over an index was put off', { pipeline, phase, reason: outcome.why.message });
        return 'put_off';
      }
      const next = phases[phases.indexOf(phase) + 1];
      if (next === undefined) break;
      const position: RoundPosition = { all: outcome.all, at: null };
      await save(deps, round, next, { position });
      const readAt = phase === 'manifest' ? await rounds.lastRead(pipeline) : round.readAt;
      round = { ...round, phase: next, position, readAt };
    }
    await rounds.end(pipeline, clock.now());
    return 'done';
  } catch (error) {
    if (error instanceof RecalldError && !signal.aborted) {
      const reason = error.code === 'manifest_unreadable' || error.kind === 'input' ? 'manifest_unreadable' : null;
      if (reason !== null)
        await deps.measurements.record(phases.flatMap((phase) => gaps(deps, plan, phase, reason, error.message)));
    }
    throw error;
  } finally {
    await rounds.release(pipeline).catch(() => undefined);
  }
}

function save(deps: IndexDeps, round: Round, phase: Phase, step: Parameters<Look['save']>[0]): Promise<void> {
  const now = deps.clock.now();
  return deps.indexRounds.save(round, phase, step, now, new Date(now.getTime() + HELD_MS));
}

type PhaseOutcome =
  | { readonly kind: 'done'; readonly all: boolean }
  | { readonly kind: 'put_off'; readonly why: PutOff };

/** What a phase cannot do at all is left out of the round; what it cannot do now puts the round off. */
async function runPhase(look: Look, phase: Phase, all: boolean): Promise<PhaseOutcome> {
  try {
    return { kind: 'done', all: await doPhase(look, phase, all) };
  } catch (error) {
    if (!(error instanceof PutOff)) throw error;
    if (error.reason === 'store_failed' || error.reason === 'store_slow') return { kind: 'put_off', why: error };
    await look.deps.measurements.record(gapsOf(look, phase, error));
    return { kind: 'done', all };
  }
}

/** @returns whether all ids of the store are looked at in this round */
async function doPhase(look: Look, phase: Phase, all: boolean): Promise<boolean> {
  const { deps, plan, round, signal } = look;
  const keep = (position: unknown): Promise<void> => look.save({ position });
  switch (phase) {
    case 'strangers': {
      if (round.readAt !== null) return meetStrangers(look);
      // Before the first manifest everything would be a stranger.
      await readManifest(deps, plan, round, keep, signal);
      return meetStrangers({ ...look, round: { ...round, position: null } });
    }
    case 'manifest':
      await readManifest(deps, plan, round, keep, signal);
      await deps.indexRounds.forgetGone(plan.pipeline);
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
      await measureIndex(deps, plan, round, all);
      return all;
  }
}

function gapsOf({ deps, plan }: Look, phase: Phase, { reason, message }: PutOff): MeasurementOutcome[] {
  return gaps(deps, plan, phase, reason, message);
}

function gaps(deps: IndexDeps, plan: IndexPlan, phase: Phase, reason: string, message: string): MeasurementOutcome[] {
  const now = deps.clock.now();
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
  const { deps, plan, guest, signal } = look;
  const waiting = await deps.indexDocuments.waiting(plan.pipeline, MAX_LOOKED_FOR);
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
  if (looked.length > 0) await deps.indexDocuments.looked(plan.pipeline, looked, deps.clock.now());
}
