/** Phases of a round that look up documents, ids and chunks in the store. All store calls are throttled. */

import { inPortions } from '../../connectors/stores/store-rows.ts';
import type { StoredChunk, StoreOutcome } from '../../connectors/stores/vector-store.ts';
import { createSharedRate } from '../../connectors/throttle/shared-rate.ts';
import type { Context } from '../../core/context.ts';
import { groupBy } from '../../core/group-by.ts';
import { HOUR_MS } from '../../core/time.ts';
import { NoValueError, noValueOf } from '../probes/probes.ts';
import type { ExpectedDocument } from './documents-table.ts';
import type { IndexPlan } from './plan.ts';
import { type ProbedDocument, type Round, type SegmentedDocument, type Step, tallyBySegment } from './rounds-table.ts';
import { isSuperseded, queryTextOf, segmentTags } from './rules/findings.ts';
import { FIRST_PLACE, hasSlowedDown, type Tally, twoStageSample } from './rules/probe-estimates.ts';

const KEPT_LATENCIES = 1000;

export function createThrottledStore(context: Context, { pipeline, callsPerSecond }: IndexPlan, signal: AbortSignal) {
  // Pipeline names contain no spaces, so this name cannot collide with that of a retriever's rate limit.
  const rateLimit = createSharedRate(context, `${pipeline} index`, () => callsPerSecond);
  const latencies = new Map<string, number[]>();
  return {
    /** Waits for the rate limit before a call to a service that itself queries the store, such as the retriever. */
    waitTurn: () => rateLimit(signal),
    /** @throws NoValueError, and the reason of `signal` */
    async call<Value>(what: string, request: () => Promise<StoreOutcome<Value>>): Promise<Value> {
      await rateLimit(signal);
      const outcome = await request();
      if (outcome.kind !== 'ok') throw noValueOf(outcome);
      const known = latencies.get(what) ?? [];
      latencies.set(what, known);
      known.push(outcome.latencyMs);
      if (known.length > KEPT_LATENCIES) known.splice(KEPT_LATENCIES / 2, 1);
      if (hasSlowedDown(known)) throw new NoValueError('store_slow', `The store has become much slower (${what}).`);
      return outcome.value;
    },
  };
}

export interface PhaseRun {
  readonly context: Context;
  readonly plan: IndexPlan;
  readonly round: Round;
  readonly throttled: ReturnType<typeof createThrottledStore>;
  readonly signal: AbortSignal;
  /** Stores a step atomically. After a crash, the round continues from the position in the last stored step. */
  readonly save: (step: Step) => Promise<void>;
}

const IDS_PER_CALL = 1000;

const RECHECKED_FINDINGS = 500;

export async function inStore(
  { plan, throttled, signal }: PhaseRun,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const there = new Set<string>();
  for (const portion of inPortions(ids, IDS_PER_CALL)) {
    for (const id of await throttled.call('ID lookup', () => plan.store.existing(portion, signal))) there.add(id);
  }
  return there;
}

/**
 * Returns the cutoff time: changes made before this time must have reached the store, but later changes may still be in
 * transit.
 */
function dueBefore({ context, plan }: PhaseRun): Date {
  return new Date(context.clock.now().getTime() - plan.lateAfterMs);
}

/** @param all true to look up every document in random order; false to look up a random sample */
export async function probeMissing(run: PhaseRun, all: boolean): Promise<void> {
  if (!all) return probeSample(run);
  const { context, plan, round, save } = run;
  let at = (round.position as typeof FIRST_PLACE | null) ?? FIRST_PLACE;
  for (;;) {
    const among = { until: dueBefore(run) };
    const documents = await context.db.index.documents.after(plan.pipeline, at, among, IDS_PER_CALL);
    const last = documents.at(-1);
    if (last === undefined) return;
    at = { place: last.place, id: last.id };
    await save({ checked: [await probeDocuments(run, documents)], position: at });
  }
}

async function probeSample(run: PhaseRun): Promise<void> {
  const { context, plan, save } = run;
  const before = await context.db.index.rounds.findings(plan.pipeline, 'missing', RECHECKED_FINDINGS);
  const again = await probeDocuments(run, before);
  const first: Awaited<ReturnType<typeof probeDocuments>>[] = [];
  const drawn = await twoStageSample(plan.probe, async (n) => {
    const checked = await probeDocuments(run, await drawDocuments(run, n));
    first.push(checked);
    return { ...checked, tally: tallyOf(checked.documents) };
  });
  const others = [again, ...first.slice(0, -1)].map((checked) => ({ ...checked, uncounted: true as const }));
  await save({ checked: [...others, drawn], position: null });
}

function tallyOf(documents: readonly ProbedDocument[]): Tally {
  return { n: documents.length, found: documents.filter(({ isWrong }) => isWrong).length };
}

function drawDocuments(run: PhaseRun, n: number): Promise<readonly ExpectedDocument[]> {
  return run.context.db.index.documents.draw(run.plan.pipeline, { until: dueBefore(run) }, n);
}

async function probeDocuments(run: PhaseRun, documents: readonly SegmentedDocument[]) {
  const ids = documents.map(({ id }) => id);
  const there = await inStore(run, ids);
  return {
    kind: 'missing' as const,
    documents: documents.map(({ id, segment }) => ({ id, segment, isWrong: !there.has(id) })),
  };
}

/** Minimum time between samples, each of which may read the whole store. */
const SAMPLE_MS = HOUR_MS;

/**
 * Finds ids that are not in the manifest. If the store can list its ids, checks all of them; otherwise, checks a
 * uniform sample at most once an hour.
 *
 * @returns true if all ids were checked
 */
export async function findOrphans(run: PhaseRun): Promise<boolean> {
  try {
    await listSuspects(run);
    return true;
  } catch (error) {
    if (!(error instanceof NoValueError) || error.reason !== 'unsupported') throw error;
  }
  await sampleSuspects(run);
  return false;
}

async function listSuspects(run: PhaseRun): Promise<void> {
  const { plan, throttled, round, context, signal, save } = run;
  let from = (round.position as { readonly from: string } | null)?.from ?? null;
  for (;;) {
    const page = await throttled
      .call('ID listing', () => plan.store.list(from, signal))
      .catch(async (error: unknown) => {
        // The cursor has expired in the store: start over.
        if (from !== null && error instanceof NoValueError && error.reason === 'store_failed') {
          await context.db.index.rounds.deleteSuspects(round);
          await save({ position: null });
        }
        throw error;
      });
    const ids = [...new Set(page.ids)];
    const unexpected = await unexpectedAmong(run, ids);
    const suspects = new Map(unexpected.map((id) => [id, 1]));
    const position = page.next === null ? null : { from: page.next };
    await save({ suspects, counted: await tallyListed(run, ids), position });
    if (page.next === null) return;
    from = page.next;
  }
}

async function sampleSuspects(run: PhaseRun): Promise<void> {
  const { plan, throttled, context, round, signal, save } = run;
  const last = await context.db.index.rounds.lastTally(plan.pipeline, 'orphaned');
  if (last !== null && round.startedAt.getTime() - last.getTime() < 0.9 * SAMPLE_MS) return;
  // Uses a new seed each time, so that the samples differ.
  let seed = Math.floor(context.clock.now().getTime() / 1000);
  let drawn: readonly string[] = [];
  const met = new Map<string, number>();
  await twoStageSample(plan.probe, async (n) => {
    seed += 1;
    const sample = await throttled.call('sample', () => plan.store.sample({ n, seed, withContent: false }, signal));
    drawn = sample.ids;
    const unexpected = new Set(await unexpectedAmong(run, [...new Set(drawn)]));
    // Suspects from the first stage are still checked later, but do not count toward the share.
    for (const id of met.keys()) met.set(id, 0);
    for (const id of drawn) if (unexpected.has(id)) met.set(id, (met.get(id) ?? 0) + 1);
    return { tally: { n: drawn.length, found: unexpected.size } };
  });
  await save({ suspects: met, counted: await tallyListed(run, drawn), position: null });
}

/** Counts listed ids by their segment in the last manifest. Ids that were never in a manifest have no segment. */
async function tallyListed({ context, plan }: PhaseRun, ids: readonly string[]) {
  const segmentOf = await context.db.index.documents.segmentsOf(plan.pipeline, ids);
  const counts = ids.map((id) => ({ segment: segmentOf(id), n: 1, found: 0 }));
  return tallyBySegment('orphaned', counts);
}

async function unexpectedAmong(run: PhaseRun, ids: readonly string[]): Promise<readonly string[]> {
  const { context, plan } = run;
  const expected = await context.db.index.documents.expected(plan.pipeline, ids, dueBefore(run));
  return ids.filter((id) => !expected.has(id));
}

/** Checks the suspects and earlier orphans against the current manifest and store. */
export async function confirmOrphans(run: PhaseRun): Promise<void> {
  const { context, plan, save } = run;
  const before = await context.db.index.rounds.findings(plan.pipeline, 'orphaned', RECHECKED_FINDINGS);
  const known = before.map(({ id }) => id);
  const again = await orphansAmong(run, known);
  const documents = before.map(({ id, segment }) => ({ id, segment, isWrong: again.has(id) }));
  await save({ checked: [{ kind: 'orphaned', documents, uncounted: true }], position: null });
  for (;;) {
    const suspects = await context.db.index.rounds.suspects(plan.pipeline, IDS_PER_CALL);
    if (suspects.length === 0) return;
    const ids = suspects.map(({ id }) => id);
    const orphans = await orphansAmong(run, ids);
    const segmentOf = await context.db.index.documents.segmentsOf(plan.pipeline, ids);
    const named = ids.map((id) => ({ id, segment: segmentOf(id), isWrong: orphans.has(id) }));
    const found = suspects.map(({ id, times }) => ({
      segment: segmentOf(id),
      n: 0,
      found: orphans.has(id) ? times : 0,
    }));
    await save({
      checked: [{ kind: 'orphaned', documents: named, uncounted: true }],
      counted: tallyBySegment('orphaned', found),
      cleared: ids,
      position: null,
    });
  }
}

async function orphansAmong(run: PhaseRun, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return inStore(run, await unexpectedAmong(run, ids));
}

const DOCUMENTS_PER_CALL = 20;
/** Number of top results among which a search for a document's text must return the document. */
const K = 10;

type Chunks = ReadonlyMap<string, readonly StoredChunk[]>;

export async function probeChunks(run: PhaseRun): Promise<void> {
  const { context, plan, save } = run;
  const found = await context.db.index.rounds.findings(plan.pipeline, 'superseded', RECHECKED_FINDINGS);
  const ids = found.map(({ id }) => id);
  const counts = await context.db.index.documents.chunkCounts(plan.pipeline, ids);
  const known = found.map((document) => ({ ...document, chunks: counts.get(document.id) ?? null }));
  const again = superseded(known, await chunksOf(run, known));
  const drawn = await twoStageSample(plan.probe, async (n) => {
    const documents = await drawDocuments(run, n);
    const chunks = await chunksOf(run, documents);
    const checked = superseded(documents, chunks);
    return { documents, chunks, checked, tally: tallyOf(checked) };
  });
  await save({
    checked: [
      { kind: 'superseded', documents: again, uncounted: true },
      { kind: 'superseded', documents: drawn.checked },
    ],
    position: null,
  });
  await probeRetrieval(run, drawn.documents, drawn.chunks);
}

export async function chunksOf(
  { plan, throttled, signal }: PhaseRun,
  documents: readonly { readonly id: string }[],
): Promise<Chunks> {
  const found: StoredChunk[] = [];
  for (const portion of inPortions(documents, DOCUMENTS_PER_CALL)) {
    const ids = portion.map(({ id }) => id);
    found.push(...(await throttled.call('chunk lookup', () => plan.store.chunks(ids, signal))));
  }
  return groupBy(found, ({ id }) => id);
}

/**
 * Checks the versions of documents in the store. Omits documents whose versions cannot be determined from their chunks.
 */
function superseded(
  documents: readonly Pick<ExpectedDocument, 'id' | 'chunks' | 'segment'>[],
  chunks: Chunks,
): ProbedDocument[] {
  return documents.flatMap(({ id, chunks: expected, segment }) => {
    const own = chunks.get(id);
    const isWrong = own === undefined ? null : isSuperseded(own, expected);
    return isWrong === null ? [] : [{ id, segment, isWrong }];
  });
}

/** Sends the beginning of each document's text as a query, and checks that the retriever returns the document. */
async function probeRetrieval(run: PhaseRun, documents: readonly ExpectedDocument[], chunks: Chunks): Promise<void> {
  const { context, plan, save, signal, throttled } = run;
  if (plan.retrieve === 0) return;
  const before = await context.db.index.rounds.findings(plan.pipeline, 'unretrievable', plan.retrieve);
  const ask = async (one: SegmentedDocument, own: Chunks): Promise<ProbedDocument[]> => {
    const text = queryTextOf((own.get(one.id) ?? []).map(({ content }) => content));
    if (text === null) return [];
    await throttled.waitTurn();
    const request = { text, k: K, tags: segmentTags(one.segment) };
    const answer = await plan.retriever.retrieve(request, signal);
    if (answer.kind !== 'documents') throw new NoValueError('retriever_failed', answer.message);
    const isWrong = !answer.documents.slice(0, K).some(({ id }) => id === one.id);
    return [{ id: one.id, segment: one.segment, isWrong }];
  };
  const again: ProbedDocument[] = [];
  const known = await chunksOf(run, before);
  for (const one of before) again.push(...(await ask(one, known)));
  const checked: ProbedDocument[] = [];
  for (const one of documents) {
    if (checked.length === plan.retrieve) break;
    checked.push(...(await ask(one, chunks)));
  }
  await save({
    checked: [
      { kind: 'unretrievable', documents: again, uncounted: true },
      { kind: 'unretrievable', documents: checked },
    ],
    position: null,
  });
}
