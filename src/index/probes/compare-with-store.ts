/**
 * Compares golden results with the documents that the store finds without the retriever, to distinguish a fault in the
 * store from a fault in the retriever.
 */
import { createHash } from 'node:crypto';
import type { StoreOutcome, VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { mean, summarize } from '../../math/stats/descriptive.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { gapNow, type ProbedPipeline, valueNow } from './probes.ts';

export interface AnsweredQuery {
  readonly id: string;
  readonly text: string;
  /** Ids of the returned documents, best first; at most as many as a user would get. */
  readonly documents: readonly string[];
  /** Ids of the relevant documents that were not returned. */
  readonly missed: readonly string[];
}

export interface AnsweredRun {
  readonly id: string;
  readonly finishedAt: Date;
  readonly answered: readonly AnsweredQuery[];
}

/**
 * Maximum number of golden queries with which the store is searched. Each comparison uses the same queries, as long as
 * the golden set contains them.
 */
const MAX_QUERIES = 32;
const MIN_QUERIES = 5;
/**
 * Number of chunks requested from the store, as a multiple of the number of documents that the retriever returned. The
 * additional chunks show whether documents that only the retriever returned rank just below the nearest chunks or far
 * below them.
 */
const DEEPER = 4;
const MAX_MISSED = 16;
/** A search for the text of a document must return the document among this many chunks. */
const FOUND_AMONG = 10;
/** Default minimum cosine between a stored vector and the vector of its text. */
const MIN_COSINE = 0.98;
const PATIENCE_MS = 30_000;

type Compared = { readonly reason: string; readonly message: string } | Parameters<typeof valueNow>[3];

/**
 * Measures `store_agreement`: the mean share of returned documents that are also among the nearest chunks (as many
 * chunks as documents) in the store. Measures `missed_foreign_ratio`: the share of missed documents (relevant and in
 * the store, but not returned) whose stored vector does not match the vector that the embedder returns for their text.
 * If a measure has no value, records the reason. Rejects with the reason of `signal`, and on database errors.
 */
export async function compareWithStore(
  context: Context,
  { name, store, embedder }: ProbedPipeline,
  run: AnsweredRun,
  signal: AbortSignal,
): Promise<void> {
  if (store === null || embedder === null) return;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const embed = async (texts: readonly string[]): Promise<readonly Float32Array[]> => {
    const answer = await embedder.embed(texts, bounded);
    if (answer.kind === 'failed') throw new NoValue('embedder_failed', answer.message);
    return answer.vectors;
  };
  const measured = async (measure: string, work: () => Promise<Compared>): Promise<MeasurementOutcome> => {
    const gap = (reason: string, message: string): MeasurementOutcome => ({
      ...gapNow(name, measure, context.clock.now(), reason, { message, run_id: run.id }),
      windowStart: run.finishedAt,
      windowEnd: run.finishedAt,
    });
    try {
      const found = await work();
      if ('reason' in found) return gap(found.reason, found.message);
      const details = { ...found.details, run_id: run.id };
      const own = valueNow(name, measure, context.clock.now(), { ...found, details });
      return { ...own, windowStart: run.finishedAt, windowEnd: run.finishedAt };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NoValue) return gap(error.reason, error.message);
      if (bounded.aborted) return gap('timeout', `The store or the embedder took more than ${PATIENCE_MS / 1000} s.`);
      throw error;
    }
  };
  const plan = context.indexPlans.find(({ pipeline }) => pipeline === name);
  const reader = { store, embed, signal: bounded };
  await context.db.measurements.record([
    await measured('store_agreement', () => agreementWith(reader, run.answered)),
    await measured('missed_foreign_ratio', () =>
      foreignAmongMissed(reader, run.answered, plan?.embedPrefix ?? '', plan?.minCosine ?? MIN_COSINE),
    ),
  ]);
}

/** Thrown if a comparison has no value, with the reason. */
class NoValue extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

interface Reader {
  readonly store: VectorStore;
  /** @throws NoValue */
  readonly embed: (texts: readonly string[]) => Promise<readonly Float32Array[]>;
  readonly signal: AbortSignal;
}

async function agreementWith(reader: Reader, answered: readonly AnsweredQuery[]): Promise<Compared> {
  const queries = inFixedOrder(answered.filter(({ documents }) => documents.length > 0)).slice(0, MAX_QUERIES);
  if (queries.length < MIN_QUERIES)
    return { reason: 'too_few_answers', message: `Fewer than ${MIN_QUERIES} golden queries returned documents.` };
  const vectors = await reader.embed(queries.map(({ text }) => text));
  const near: number[] = [];
  const deep: number[] = [];
  for (const [place, { documents }] of queries.entries()) {
    const ids = await nearestIds(reader, vectors[place], DEEPER * documents.length);
    near.push(shareIn(documents, ids.slice(0, documents.length)));
    deep.push(shareIn(documents, ids));
  }
  const { mean: value, ciLow, ciHigh, ciMethod, n } = summarize(near, 'recall');
  return { value, n, ciLow, ciHigh, ciMethod, details: { deep: mean(deep) } };
}

async function foreignAmongMissed(
  reader: Reader,
  answered: readonly AnsweredQuery[],
  prefix: string,
  minCosine: number,
): Promise<Compared> {
  const missed = [...new Set(inFixedOrder(answered).flatMap((query) => query.missed))].slice(0, MAX_MISSED);
  const chunks = missed.length === 0 ? [] : valueOf(await reader.store.chunks(missed, reader.signal));
  const texts = missed.flatMap((id) => {
    const content = chunks.find((one) => one.id === id && (one.content ?? '') !== '')?.content ?? null;
    return content === null ? [] : [{ id, text: `${prefix}${content}` }];
  });
  if (texts.length === 0)
    return { reason: 'none_missed', message: 'The run missed no relevant document whose text is in the store.' };
  const vectors = await reader.embed(texts.map(({ text }) => text));
  let foreign = 0;
  for (const [place, { id }] of texts.entries())
    if (!(await isFoundBy(reader, vectors[place], id, minCosine))) foreign += 1;
  const value = foreign / texts.length;
  const { low, high } = wilsonInterval(value, texts.length, 0.95);
  return { value, n: texts.length, ciLow: low, ciHigh: high, ciMethod: 'wilson', details: {} };
}

async function isFoundBy(
  { store, signal }: Reader,
  vector: Float32Array | undefined,
  id: string,
  minCosine: number,
): Promise<boolean> {
  if (vector === undefined) throw new NoValue('embedder_failed', 'The embedder returned too few vectors.');
  const request = { vector, k: FOUND_AMONG, filter: {}, exact: false, withContent: false } as const;
  const { neighbours } = valueOf(await store.nearest(request, signal));
  return neighbours.some((one) => one.id === id && one.similarity >= minCosine);
}

/** Returns the distinct document ids of the nearest chunks, best first. */
async function nearestIds(
  { store, signal }: Reader,
  vector: Float32Array | undefined,
  k: number,
): Promise<readonly string[]> {
  if (vector === undefined) throw new NoValue('embedder_failed', 'The embedder returned too few vectors.');
  const { neighbours } = valueOf(
    await store.nearest({ vector, k, filter: {}, exact: false, withContent: false }, signal),
  );
  return [...new Set(neighbours.map(({ id }) => id))];
}

/** @throws NoValue */
function valueOf<Value>(outcome: StoreOutcome<Value>): Value {
  if (outcome.kind === 'ok') return outcome.value;
  throw outcome.kind === 'unsupported'
    ? new NoValue('unsupported', outcome.reason)
    : new NoValue('store_failed', outcome.message);
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
