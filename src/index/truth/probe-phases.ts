/**
 * The looks of a round: for what is in the manifest and not in the store, for what is in the store and not in the
 * manifest, and at what chunks say. The store is asked politely.
 */

import type { StoredChunk, StoreOutcome } from '../../connectors/stores/vector-store.ts';
import { createSharedRate } from '../../connectors/throttle/shared-rate.ts';
import type { Context } from '../../core/context.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { ExpectedDocument } from './documents-table.ts';
import type { IndexPlan } from './plan.ts';
import { type LookedAt, type Round, type Step, tallied } from './rounds-table.ts';
import { isSuperseded, questionOf, segmentTags } from './rules/findings.ts';
import { drawnPlace, FIRST_PLACE, hasSlowedDown, twoStageSample } from './rules/probe-estimates.ts';

/** Why a phase of a round cannot go on: now, or at all where the store cannot do what it needs. */
export class DeferredError extends Error {
  readonly reason: 'unsupported' | 'store_failed' | 'store_slow' | 'retriever_failed' | 'embedder_failed';
  /** Of a store that failed. */
  readonly code: string;

  constructor(reason: DeferredError['reason'], message: string, code = '') {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}

interface Guest {
  /** @throws DeferredError, and the reason of `signal` */
  ask<Value>(what: string, call: () => Promise<StoreOutcome<Value>>): Promise<Value>;
  /** Waits for a turn to ask something else that answers for the store. */
  readonly turn: () => Promise<void>;
}

/** Latencies of a kind of call are compared among themselves. */
const KEPT_LATENCIES = 1000;

export function createGuest(context: Context, { pipeline, callsPerSecond }: IndexPlan, signal: AbortSignal): Guest {
  // A pipeline name has no space, so that this is the rate of no retriever.
  const pace = createSharedRate(
    { limits: context.db.limits, clock: context.clock },
    { name: `${pipeline} index`, perSecond: () => callsPerSecond },
  );
  const latencies = new Map<string, number[]>();
  return {
    turn: () => pace(signal),
    async ask(what, call) {
      await pace(signal);
      const outcome = await call();
      if (outcome.kind === 'unsupported') throw new DeferredError('unsupported', outcome.reason);
      if (outcome.kind === 'failed') throw new DeferredError('store_failed', outcome.message, outcome.code);
      const known = latencies.get(what) ?? [];
      latencies.set(what, known);
      known.push(outcome.latencyMs);
      if (known.length > KEPT_LATENCIES) known.splice(KEPT_LATENCIES / 2, 1);
      if (hasSlowedDown(known))
        throw new DeferredError('store_slow', `The store takes much longer for each ${what} than before.`);
      return outcome.value;
    },
  };
}

/** One phase of a round, at work. */
export interface Look {
  readonly context: Context;
  readonly plan: IndexPlan;
  readonly round: Round;
  readonly guest: Guest;
  readonly signal: AbortSignal;
  /** Stores a step as a whole; a process that ends behind it goes on from its position. */
  readonly save: (step: Step) => Promise<void>;
}

/** Ids in one question to the store. */
const IDS_PER_CALL = 1000;

/** Documents that were found before are looked at again, so many of a kind. */
const LOOKED_AT_AGAIN = 500;

/** Which of these are in the store. */
export async function inStore({ plan, guest, signal }: Look, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const there = new Set<string>();
  for (let start = 0; start < ids.length; start += IDS_PER_CALL) {
    const portion = ids.slice(start, start + IDS_PER_CALL);
    for (const id of await guest.ask('look-up of ids', () => plan.store.existing(portion, signal))) there.add(id);
  }
  return there;
}

/** What changed since then may still be on its way. */
function clicksCompleteUntil({ context, plan }: Look): Date {
  return new Date(context.clock.now().getTime() - plan.lateAfterMs);
}

interface Place {
  readonly place: string;
  readonly id: string;
}

/** @param all whether every document is looked up, along the random order; else as many as a probe has, drawn anew */
export async function lookForMissing(look: Look, all: boolean): Promise<void> {
  if (all) await lookUpAll(look);
  else await lookUpSome(look);
}

async function lookUpAll(look: Look): Promise<void> {
  const { context, plan, round, save } = look;
  let at = (round.position as Place | null) ?? FIRST_PLACE;
  for (;;) {
    const documents = await context.db.index.documents.after(
      plan.pipeline,
      at,
      clicksCompleteUntil(look),
      IDS_PER_CALL,
    );
    const last = documents.at(-1);
    if (last === undefined) return;
    at = { place: last.place, id: last.id };
    await save({ looked: [await lookedUp(look, documents)], position: at });
  }
}

async function lookUpSome(look: Look): Promise<void> {
  const { context, plan, save } = look;
  const before = await context.db.index.rounds.findings(plan.pipeline, 'missing', LOOKED_AT_AGAIN);
  const again = await lookedUp(look, before);
  const first: Awaited<ReturnType<typeof lookedUp>>[] = [];
  const drawn = await twoStageSample(plan.probe, async (n) => {
    const looked = await lookedUp(look, await drawDocuments(look, n));
    first.push(looked);
    return { ...looked, tally: { n: looked.documents.length, found: looked.documents.filter(isWrong).length } };
  });
  const others = [again, ...first.slice(0, -1)].map((looked) => ({ ...looked, uncounted: true as const }));
  await save({ looked: [...others, drawn], position: null });
}

function isWrong(document: { readonly isWrong: boolean }): boolean {
  return document.isWrong;
}

/** Some that should be in the store, each as likely as any other. */
async function drawDocuments(look: Look, n: number): Promise<readonly ExpectedDocument[]> {
  const { context, plan } = look;
  const until = clicksCompleteUntil(look);
  const start = { place: drawnPlace(Math.random()), id: '' };
  const documents = await context.db.index.documents.after(plan.pipeline, start, until, n);
  if (documents.length === n) return documents;
  // The order has no end: behind the last place comes the first.
  const more = await context.db.index.documents.after(plan.pipeline, FIRST_PLACE, until, n - documents.length);
  return [...new Map([...documents, ...more].map((document) => [document.id, document])).values()];
}

async function lookedUp(look: Look, documents: readonly { readonly id: string; readonly segment: string | null }[]) {
  const there = await inStore(
    look,
    documents.map(({ id }) => id),
  );
  return {
    kind: 'missing' as const,
    documents: documents.map(({ id, segment }) => ({ id, segment, isWrong: !there.has(id) })),
  };
}

interface ListPosition {
  readonly from: string;
}

/** A sample may read the whole store. */
const SAMPLE_MS = HOUR_MS;

/**
 * Meets every id where the store lists them, else those of a uniform sample, once an hour.
 *
 * @returns whether all were met
 */
export async function findOrphans(look: Look): Promise<boolean> {
  try {
    await meetAll(look);
    return true;
  } catch (error) {
    if (!(error instanceof DeferredError) || error.reason !== 'unsupported') throw error;
  }
  await meetSome(look);
  return false;
}

async function meetAll(look: Look): Promise<void> {
  const { plan, guest, round, context, signal, save } = look;
  let from = (round.position as ListPosition | null)?.from ?? null;
  for (;;) {
    const page = await guest
      .ask('list of ids', () => plan.store.list(from, signal))
      .catch(async (error: unknown) => {
        // A place that the store has forgotten is no place to go on from.
        if (from !== null && error instanceof DeferredError && error.reason === 'store_failed') {
          await context.db.index.rounds.forgetTallies(round, 'orphaned');
          await context.db.index.rounds.forgetSuspects(plan.pipeline);
          await save({ position: null });
        }
        throw error;
      });
    const ids = [...new Set(page.ids)];
    const strangers = await strangersOf(look, ids);
    const suspects = new Map(strangers.map((id) => [id, 1]));
    const position = page.next === null ? null : ({ from: page.next } satisfies ListPosition);
    await save({ suspects, counted: await metOf(look, ids), position });
    if (page.next === null) return;
    from = page.next;
  }
}

async function meetSome(look: Look): Promise<void> {
  const { plan, guest, context, round, signal, save } = look;
  const last = await context.db.index.rounds.lastTally(plan.pipeline, 'orphaned');
  if (last !== null && round.startedAt.getTime() - last.getTime() < 0.9 * SAMPLE_MS) return;
  // Another seed each time, so that what one sample misses the next one may see.
  let seed = Math.floor(context.clock.now().getTime() / 1000);
  let drawn: readonly string[] = [];
  const met = new Map<string, number>();
  await twoStageSample(plan.probe, async (n) => {
    seed += 1;
    const sample = await guest.ask('sample', () => plan.store.sample({ n, seed, withContent: false }, signal));
    drawn = sample.ids;
    const strangers = new Set(await strangersOf(look, [...new Set(drawn)]));
    // What the first look met counts no longer, and is looked at all the same.
    for (const id of met.keys()) met.set(id, 0);
    for (const id of drawn) if (strangers.has(id)) met.set(id, (met.get(id) ?? 0) + 1);
    return { tally: { n: drawn.length, found: strangers.size } };
  });
  await save({
    suspects: met,
    counted: await metOf(look, drawn),
    position: null,
  });
}

/** What was met, by the segments that the manifest last gave; ids that it never named have none. */
async function metOf({ context, plan }: Look, ids: readonly string[]): Promise<ReturnType<typeof tallied>> {
  const segments = await context.db.index.documents.segmentsOf(plan.pipeline, ids);
  return tallied(
    'orphaned',
    ids.map((id) => ({ segment: segments.get(id) ?? null, n: 1, found: 0 })),
  );
}

async function strangersOf(look: Look, ids: readonly string[]): Promise<readonly string[]> {
  const { context, plan } = look;
  const expected = await context.db.index.documents.expected(plan.pipeline, ids, clicksCompleteUntil(look));
  return ids.filter((id) => !expected.has(id));
}

/** Holds the strangers, and the orphans of before, against the manifest and the store as they are now. */
export async function confirmOrphans(look: Look): Promise<void> {
  const { context, plan, save } = look;
  const before = await context.db.index.rounds.findings(plan.pipeline, 'orphaned', LOOKED_AT_AGAIN);
  const again = await orphansAmong(
    look,
    before.map(({ id }) => id),
  );
  const documents = before.map(({ id, segment }) => ({ id, segment, isWrong: again.has(id) }));
  await save({ looked: [{ kind: 'orphaned', documents, uncounted: true }], position: null });
  for (;;) {
    const suspects = await context.db.index.rounds.suspects(plan.pipeline, IDS_PER_CALL);
    if (suspects.length === 0) return;
    const ids = suspects.map(({ id }) => id);
    const orphans = await orphansAmong(look, ids);
    const segments = await context.db.index.documents.segmentsOf(plan.pipeline, ids);
    const named = ids.map((id) => ({ id, segment: segments.get(id) ?? null, isWrong: orphans.has(id) }));
    const found = suspects.map(({ id, times }) => ({
      segment: segments.get(id) ?? null,
      n: 0,
      found: orphans.has(id) ? times : 0,
    }));
    await save({
      looked: [{ kind: 'orphaned', documents: named, uncounted: true }],
      counted: tallied('orphaned', found),
      cleared: ids,
      position: null,
    });
  }
}

async function orphansAmong(look: Look, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return inStore(look, await strangersOf(look, ids));
}

/** Documents whose chunks are asked for together. */
const DOCUMENTS_PER_CALL = 20;
/** Results among which a document must be. */
const K = 10;

type Chunks = ReadonlyMap<string, readonly StoredChunk[]>;

/** Looks at as many documents as a probe has, drawn anew, and again at those that were found before. */
export async function lookAtChunks(look: Look): Promise<void> {
  const { context, plan, save } = look;
  const found = await context.db.index.rounds.findings(plan.pipeline, 'superseded', LOOKED_AT_AGAIN);
  const counts = await context.db.index.documents.chunkCounts(
    plan.pipeline,
    found.map(({ id }) => id),
  );
  const known = found.map((document) => ({ ...document, chunks: counts.get(document.id) ?? null }));
  const again = superseded(known, await chunksOf(look, known));
  const drawn = await twoStageSample(plan.probe, async (n) => {
    const documents = await drawDocuments(look, n);
    const chunks = await chunksOf(look, documents);
    const looked = superseded(documents, chunks);
    const wrong = looked.filter(({ isWrong }) => isWrong).length;
    return { documents, chunks, looked, tally: { n: looked.length, found: wrong } };
  });
  await save({
    looked: [
      { kind: 'superseded', documents: again, uncounted: true },
      { kind: 'superseded', documents: drawn.looked },
    ],
    position: null,
  });
  await lookWhatIsRetrieved(look, drawn.documents, drawn.chunks);
}

async function chunksOf({ plan, guest, signal }: Look, documents: readonly { readonly id: string }[]): Promise<Chunks> {
  const found = new Map<string, StoredChunk[]>();
  for (let start = 0; start < documents.length; start += DOCUMENTS_PER_CALL) {
    const ids = documents.slice(start, start + DOCUMENTS_PER_CALL).map(({ id }) => id);
    for (const chunk of await guest.ask('look-up of chunks', () => plan.store.chunks(ids, signal))) {
      const own = found.get(chunk.id) ?? [];
      found.set(chunk.id, own);
      own.push(chunk);
    }
  }
  return found;
}

/** Of those that are in the store, and whose chunks say something. */
function superseded(
  documents: readonly Pick<ExpectedDocument, 'id' | 'chunks' | 'segment'>[],
  chunks: Chunks,
): LookedAt[] {
  return documents.flatMap(({ id, chunks: expected, segment }) => {
    const own = chunks.get(id);
    const isWrong = own === undefined ? null : isSuperseded(own, expected);
    return isWrong === null ? [] : [{ id, segment, isWrong }];
  });
}

/** Asks the retriever for the start of the text of some, as a user would who has it before him. */
async function lookWhatIsRetrieved(look: Look, documents: readonly ExpectedDocument[], chunks: Chunks): Promise<void> {
  const { context, plan, save, signal, guest } = look;
  if (plan.retrieve === 0) return;
  const before = await context.db.index.rounds.findings(plan.pipeline, 'unretrievable', plan.retrieve);
  const ask = async (one: Pick<ExpectedDocument, 'id' | 'segment'>, own: Chunks): Promise<LookedAt[]> => {
    const text = questionOf((own.get(one.id) ?? []).map(({ content }) => content));
    if (text === null) return [];
    await guest.turn();
    const request = { text, k: K, tags: segmentTags(one.segment) };
    const answer = await plan.retriever.retrieve(request, signal);
    if (answer.kind !== 'documents') throw new DeferredError('retriever_failed', answer.message);
    const isWrong = !answer.documents.slice(0, K).some(({ id }) => id === one.id);
    return [{ id: one.id, segment: one.segment, isWrong }];
  };
  const again: LookedAt[] = [];
  const known = await chunksOf(look, before);
  for (const one of before) again.push(...(await ask(one, known)));
  const looked: LookedAt[] = [];
  for (const one of documents) {
    if (looked.length === plan.retrieve) break;
    looked.push(...(await ask(one, chunks)));
  }
  await save({
    looked: [
      { kind: 'unretrievable', documents: again, uncounted: true },
      { kind: 'unretrievable', documents: looked },
    ],
    position: null,
  });
}
