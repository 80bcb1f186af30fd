/**
 * Compares golden results with a direct search of the store, to distinguish a fault in the store from a fault in the
 * retriever.
 */
import { createHash } from 'node:crypto';
import { documentTexts } from '../../connectors/stores/document-texts.ts';
import { searchEach } from '../../connectors/stores/search-each.ts';
import type { VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { mean, summarize } from '../../math/stats/descriptive.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import {
  gapNow,
  type MeasuredValue,
  measuredShare,
  NoValueError,
  type ProbedPipeline,
  valueNow,
  valueOf,
  vectorsOf,
} from './probes.ts';

export interface AnsweredQuery {
  readonly id: string;
  readonly text: string;
  /** Ids of the returned documents, best first; at most as many documents as a user would get. */
  readonly documents: readonly string[];
  /** Ids of the relevant documents that were not returned. */
  readonly missed: readonly string[];
  /** Ids of the relevant documents that were returned below a document that is not relevant. */
  readonly low: readonly string[];
}

export interface AnsweredRun {
  readonly id: string;
  readonly finishedAt: Date;
  readonly answered: readonly AnsweredQuery[];
  /** Returns the texts that documents had in the store a week before the run, keyed by document id. */
  readonly earlierTexts: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
}

/** Maximum number of golden queries. Unless the golden set changes, the same queries are compared each time. */
const MAX_QUERIES = 32;
const MIN_QUERIES = 5;
/**
 * Number of requested chunks per returned document. The additional chunks show whether a document that only the
 * retriever returned ranks just below the nearest chunks.
 */
const DEEPER = 4;
const MAX_MISSED = 16;
/** Maximum number of returned documents that are looked up in the store. */
const MAX_RETURNED = 200;
/** A search for a document's text finds the document only if it is among this many nearest chunks. */
const FOUND_AMONG = 10;
/** Default minimum cosine between a stored vector and the vector of its text. */
const MIN_COSINE = 0.98;
const PATIENCE_MS = 30_000;

/**
 * Compares the results of a golden run with the store. A missed document is relevant and in the store, but was not
 * returned. Records these measures, or the reason why a measure has no value:
 *
 * - `store_agreement`: mean share of the n returned documents that are also among the n nearest chunks in the store.
 * - `missed_foreign_ratio`: share of missed documents whose stored vector does not match a new embedding of the text.
 * - `missed_changed_ratio`: share of missed documents whose text in the store changed in the last week. For this
 *   measure, documents that were returned below a document that is not relevant also count as missed.
 * - `returned_absent_ratio`: share of returned documents that the store does not have.
 *
 * Rejects with `signal.reason` or with a database error.
 */
export async function compareWithStore(
  context: Context,
  { name, store, embedder }: ProbedPipeline,
  run: AnsweredRun,
  signal: AbortSignal,
): Promise<void> {
  if (store === null) return;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const measured = async (measure: string, work: () => Promise<MeasuredValue>): Promise<MeasurementOutcome> => {
    const about = { measure, windowStart: run.finishedAt, windowEnd: run.finishedAt };
    try {
      const found = await work();
      const details = { ...found.details, run_id: run.id };
      return { ...valueNow(name, measure, context.clock.now(), { ...found, details }), ...about };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof NoValueError || bounded.aborted)) throw error;
      const { reason, message } = error instanceof NoValueError ? error : timedOut;
      return { ...gapNow(name, measure, context.clock.now(), reason, { message, run_id: run.id }), ...about };
    }
  };
  const ofStore = [
    await measured('returned_absent_ratio', () => absentAmongReturned(store, run.answered, bounded)),
    await measured('missed_changed_ratio', () => changedAmongMissed(store, run, bounded)),
  ];
  if (embedder === null) return context.db.measurements.record(ofStore);
  const plan = context.indexPlans.find(({ pipeline }) => pipeline === name);
  const embed = (texts: readonly string[]) => vectorsOf(embedder, texts, bounded);
  const reader = { store, embed, signal: bounded };
  await context.db.measurements.record([
    ...ofStore,
    await measured('store_agreement', () => agreementWith(reader, run.answered)),
    await measured('missed_foreign_ratio', () =>
      foreignAmongMissed(reader, run.answered, plan?.embedPrefix ?? '', plan?.minCosine ?? MIN_COSINE),
    ),
  ]);
}

const timedOut = {
  reason: 'timeout',
  message: `The store or the embedder took more than ${PATIENCE_MS / 1000} s.`,
} as const;

interface Reader {
  readonly store: VectorStore;
  /** @throws NoValueError */
  readonly embed: (texts: readonly string[]) => Promise<readonly Float32Array[]>;
  readonly signal: AbortSignal;
}

/** @throws NoValueError */
async function agreementWith(reader: Reader, answered: readonly AnsweredQuery[]): Promise<MeasuredValue> {
  const queries = inFixedOrder(answered.filter(({ documents }) => documents.length > 0)).slice(0, MAX_QUERIES);
  if (queries.length < MIN_QUERIES)
    throw new NoValueError('too_few_answers', `Fewer than ${MIN_QUERIES} golden queries returned documents.`);
  const vectors = await reader.embed(queries.map(({ text }) => text));
  const near: number[] = [];
  const deep: number[] = [];
  const longest = Math.max(...queries.map(({ documents }) => documents.length));
  const found = await nearestChunks(reader, vectors, DEEPER * longest);
  for (const [place, { documents }] of queries.entries()) {
    const chunks = found[place]?.slice(0, DEEPER * documents.length) ?? [];
    const ids = [...new Set(chunks.map(({ id }) => id))];
    near.push(shareIn(documents, ids.slice(0, documents.length)));
    deep.push(shareIn(documents, ids));
  }
  const { mean: value, ...bounds } = summarize(near, 'recall');
  return { value, ...bounds, details: { deep: mean(deep) } };
}

/** @throws NoValueError */
async function foreignAmongMissed(
  reader: Reader,
  answered: readonly AnsweredQuery[],
  prefix: string,
  minCosine: number,
): Promise<MeasuredValue> {
  const missed = missedIn(answered);
  const chunks = missed.length === 0 ? [] : valueOf(await reader.store.chunks(missed, reader.signal));
  const texts = missed.flatMap((id) => {
    const content = chunks.find((one) => one.id === id && (one.content ?? '') !== '')?.content ?? null;
    return content === null ? [] : [{ id, text: `${prefix}${content}` }];
  });
  if (texts.length === 0)
    throw new NoValueError('none_missed', 'The run missed no relevant document whose text is in the store.');
  const vectors = await reader.embed(texts.map(({ text }) => text));
  const found = await nearestChunks(reader, vectors, FOUND_AMONG);
  const isFound = (id: string, place: number) =>
    found[place]?.some((one) => one.id === id && one.similarity >= minCosine) ?? false;
  return measuredShare(texts.filter(({ id }, place) => !isFound(id, place)).length, texts.length);
}

function missedIn(answered: readonly AnsweredQuery[]): string[] {
  return [...new Set(inFixedOrder(answered).flatMap(({ missed }) => missed))].slice(0, MAX_MISSED);
}

/** @throws NoValueError */
async function changedAmongMissed(
  store: VectorStore,
  { answered, earlierTexts }: AnsweredRun,
  signal: AbortSignal,
): Promise<MeasuredValue> {
  const low = inFixedOrder(answered).flatMap((query) => query.low);
  const before = await earlierTexts([...new Set([...missedIn(answered), ...low])].slice(0, MAX_MISSED));
  const now = before.size === 0 ? [] : documentTexts(valueOf(await store.chunks([...before.keys()], signal)));
  const pairs = [...now].flatMap(([id, text]) => {
    const earlier = before.get(id);
    return earlier === undefined ? [] : [{ earlier, text }];
  });
  if (pairs.length === 0)
    throw new NoValueError('none_missed', 'The run missed no relevant document whose text is in the store.');
  const changed = pairs.filter(({ earlier, text }) => text !== earlier);
  const cut = changed.filter(({ earlier, text }) => earlier.includes(text)).length;
  return { ...measuredShare(changed.length, pairs.length), details: { cut } };
}

/** @throws NoValueError */
async function absentAmongReturned(
  store: VectorStore,
  answered: readonly AnsweredQuery[],
  signal: AbortSignal,
): Promise<MeasuredValue> {
  const returned = [...new Set(inFixedOrder(answered).flatMap(({ documents }) => documents))].slice(0, MAX_RETURNED);
  if (returned.length < MIN_QUERIES)
    throw new NoValueError('too_few_answers', `The golden queries returned fewer than ${MIN_QUERIES} documents.`);
  const stored = valueOf(await store.existing(returned, signal));
  return measuredShare(returned.filter((id) => !stored.has(id)).length, returned.length);
}

/** @throws NoValueError */
async function nearestChunks({ store, signal }: Reader, vectors: readonly Float32Array[], k: number) {
  const request = { k, filter: {}, exact: false, withContent: false } as const;
  return (await searchEach(store, vectors, request, signal)).map((outcome) => valueOf(outcome).neighbours);
}

function shareIn(documents: readonly string[], ids: readonly string[]): number {
  const known = new Set(ids);
  return documents.filter((id) => known.has(id)).length / documents.length;
}

/** Orders queries by a hash of their ids, so that the first queries are a random sample that is the same each time. */
function inFixedOrder(queries: readonly AnsweredQuery[]): AnsweredQuery[] {
  const place = new Map(queries.map(({ id }) => [id, createHash('sha256').update(id).digest('hex')]));
  return queries.toSorted((a, b) => ((place.get(a.id) ?? '') < (place.get(b.id) ?? '') ? -1 : 1));
}
