/**
 * The checks that `recalld doctor` runs on the retriever, embedder and store of a pipeline, and on how they fit
 * together.
 */

import { isAway } from '../../connectors/stores/store-rows.ts';
import type { StoreDescription, VectorStore } from '../../connectors/stores/vector-store.ts';
import { decimal, plural } from '../../core/format.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { misreadingOption } from '../../golden/rules/run-failure.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { dotProduct, rowOf } from '../../math/vector/matrix.ts';
import type { Report, Result } from './foundations.ts';

const SAMPLED_VECTORS = 3;
const K = 5;

export interface Probe {
  readonly text: string;
  readonly tags: GoldenQuery['tags'];
  /** True for a made-up query; the index may contain no relevant document for it. */
  readonly isMadeUp: boolean;
}

export async function examinePipeline(
  pipeline: WatchedPipeline,
  probe: Probe,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const sayOf =
    (part: string): Say =>
    (...finding) =>
      report(`${pipeline.name} ${part}`, ...finding);
  const retrieved = await examineRetriever(pipeline, probe, sayOf('retriever'), signal);
  for (const { name, asked } of pipeline.shadows) await examineRetriever(asked, probe, sayOf(`shadow ${name}`), signal);
  const vector = await examineEmbedder(pipeline, probe, sayOf('embedder'), signal);
  if (pipeline.store === null) {
    const message = 'Not configured: stale judgments, index recall and query density cannot be monitored.';
    return sayOf('vector store')('skipped', message);
  }
  await examineStore(pipeline.store, { vector, retrieved }, sayOf('vector store'), signal);
}

type Say = (status: Result['status'], message: string, ms?: number | null) => void;

/** @returns the returned ids, or null if there are no documents */
async function examineRetriever(
  { retriever }: WatchedPipeline,
  { text, tags, isMadeUp }: Probe,
  say: Say,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const answer = await retriever.retrieve({ text, tags, k: K }, signal);
  const ms = answer.latencyMs;
  switch (answer.kind) {
    case 'timeout':
      say('unreachable', `${answer.message} Raise retriever.timeout_ms or check the load on the retriever.`, ms);
      return null;
    case 'error': {
      const option = misreadingOption(answer.code);
      if (option === null) say('unreachable', answer.message, ms);
      else say('wrong', `${answer.message} Correct ${option}.`, ms);
      return null;
    }
    case 'documents':
      if (answer.documents.length === 0) {
        say(isMadeUp ? 'warning' : 'wrong', emptyAnswer(isMadeUp ? text : null), ms);
        return null;
      }
      say('ok', `The retriever returned ${plural(answer.documents.length, 'document')}.`, ms);
      return answer.documents.map(({ id }) => id);
  }
}

/** @param text a made-up query; null for a golden query, which should return documents */
function emptyAnswer(text: string | null): string {
  const fix =
    'check that its index is not empty, that retriever.results.list is the path of the result list in the response, and that the filters do not exclude all documents';
  return text === null
    ? `The retriever returned no documents for a golden query; ${fix}.`
    : `The retriever returned no documents for "${text}". If your documents do not cover this topic, import a golden set and run doctor again; otherwise, ${fix}.`;
}

/** @returns the vector of the probe, or null if there is none */
async function examineEmbedder(
  { embedder }: WatchedPipeline,
  { text }: Probe,
  say: Say,
  signal: AbortSignal,
): Promise<Float32Array | null> {
  if (embedder === null) {
    const message = 'Not configured: query density cannot be measured for live queries that arrive without a vector.';
    say('skipped', message);
    return null;
  }
  const answer = await embedder.embed([text], signal);
  if (answer.kind === 'failed') {
    say('unreachable', answer.message, answer.latencyMs);
    return null;
  }
  const [vector = null] = answer.vectors;
  const message = `${embedder.identity} returns vectors with ${vector?.length ?? 0} dimensions.`;
  say('ok', message, answer.latencyMs);
  return vector;
}

async function examineStore(
  store: VectorStore,
  { vector, retrieved }: { vector: Float32Array | null; retrieved: readonly string[] | null },
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  const described = await store.describe(signal);
  if (described.kind !== 'ok') return notOk(described, say);
  const { count, dimensions, metric } = described.value;
  if (count === 0) {
    return say('wrong', 'The store has no vectors; check the collection in the config.', described.latencyMs);
  }
  const message = `${store.kind} has ${described.value.isExactCount ? '' : 'about '}${count} vectors (dimensions: ${dimensions ?? 'unknown'}, metric: ${metric}).`;
  say('ok', message, described.latencyMs);
  await examineSample(store, say, signal);
  await examineSearch(store, described.value, vector, say, signal);
  await examineIds(store, retrieved, say, signal);
}

async function examineSample(store: VectorStore, say: Say, signal: AbortSignal): Promise<void> {
  const sampled = await store.sample({ n: SAMPLED_VECTORS, seed: 1, withContent: false }, signal);
  if (sampled.kind !== 'ok') return notOk(sampled, say);
  const { vectors } = sampled.value;
  const lengths = Array.from({ length: vectors.rows }, (_, row) => {
    const vector = rowOf(vectors, row);
    return Math.sqrt(dotProduct(vector, vector));
  });
  const ms = sampled.latencyMs;
  if (lengths.some((length) => !Number.isFinite(length))) {
    const message =
      'Some vectors in the store contain numbers that are not finite; re-index the documents of these vectors.';
    say('wrong', message, ms);
  } else if (lengths.includes(0)) {
    const message = 'Some vectors in the store are zero vectors, which no search can find; re-index their documents.';
    say('warning', message, ms);
  } else {
    const shown = lengths.map((length) => decimal(length)).join(', ');
    say('ok', `L2 norms of ${vectors.rows} sampled vectors: ${shown}.`, ms);
  }
}

async function examineSearch(
  store: VectorStore,
  { dimensions }: StoreDescription,
  vector: Float32Array | null,
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  if (vector === null) return;
  if (dimensions !== null && dimensions !== vector.length) {
    const message = `The embedder returns vectors with ${vector.length} dimensions, but the store has ${dimensions}; set embedder.model to the model that filled the store.`;
    return say('wrong', message);
  }
  const found = await store.nearest({ vector, k: K, filter: {}, exact: false, withContent: false }, signal);
  if (found.kind !== 'ok') return notOk(found, say);
  const best = found.value.neighbours[0];
  const short = found.value.isShort ? `, fewer than the ${K} requested` : '';
  const message = `A search returned ${found.value.neighbours.length} neighbors${short}${best === undefined ? '' : `, the nearest with cosine ${decimal(best.similarity)}`}.`;
  say(best === undefined ? 'warning' : 'ok', message, found.latencyMs);
}

/** If the retriever's document ids differed from the store's ids, recalld would report every judgment as stale. */
async function examineIds(
  store: VectorStore,
  retrieved: readonly string[] | null,
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  if (retrieved === null) return;
  const existing = await store.existing(retrieved, signal);
  if (existing.kind !== 'ok') return notOk(existing, say);
  const known = retrieved.filter((id) => existing.value.has(id)).length;
  const ms = existing.latencyMs;
  if (known === 0) {
    const message = `None of the ${retrieved.length} documents that the retriever returned is in the store under its id; set vector_store.id to the field that contains these ids.`;
    say('wrong', message, ms);
  } else if (known < retrieved.length) {
    const message = `Only ${known} of the ${retrieved.length} documents that the retriever returned ${known === 1 ? 'is' : 'are'} in the store; check whether the retriever also uses another index.`;
    say('warning', message, ms);
  } else {
    say('ok', 'All documents that the retriever returned are in the store.', ms);
  }
}

function notOk(
  outcome: Extract<Awaited<ReturnType<VectorStore['describe']>>, { kind: 'failed' | 'unsupported' }>,
  say: Say,
): void {
  if (outcome.kind === 'unsupported') say('warning', outcome.reason);
  else say(isAway(outcome.code) ? 'unreachable' : 'wrong', outcome.message, outcome.latencyMs);
}
