/** Sends a query again to the retriever and the store, to find out why a document was not returned. */

import { embedTexts } from '../../connectors/embedders/embedder.ts';
import type { RetrieverAnswer } from '../../connectors/retrievers/retriever.ts';
import type { StoredChunk, VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { findHubs } from '../../index/truth/rules/hubs.ts';
import type { Ranking } from './rules/outranked.ts';
import type { SeenDocument, SeenQuestion } from './rules/verdict.ts';

export interface AskedQuestion {
  readonly text: string;
  /** Number (from 1) of the golden query step with this text; omitted for a query without steps. */
  readonly step?: number;
  readonly tags: Readonly<Record<string, string>>;
  /** Number of documents that a user gets per query. */
  readonly k: number;
}

/**
 * Number of results that the second call to the retriever requests, as a multiple of k. The results beyond rank k show
 * whether a document is ranked below k.
 */
const DEEPER = 10;
const MIN_DEEP = 100;
const MAX_CHANGES = 5;

/** Index settings that determine how much of the index a search scans, keyed by the kind of the store. */
const breadthOf: Readonly<Record<string, string>> = {
  pgvector: 'hnsw.ef_search (or ivfflat.probes)',
  qdrant: 'hnsw_ef',
  chroma: 'hnsw:search_ef',
  elasticsearch: 'num_candidates',
  opensearch: 'ef_search',
  weaviate: 'ef',
  milvus: 'ef (or nprobe)',
  redis_vector_set: 'EF',
  redis_search: 'EF_RUNTIME',
};

/** @throws only the abort reason of `signal` */
export async function lookForQuestion(
  pipeline: WatchedPipeline,
  { text, tags, k }: AskedQuestion,
  filters: SeenQuestion['filters'],
  hubs: SeenQuestion['hubs'],
  signal: AbortSignal,
): Promise<SeenQuestion> {
  const { retriever } = pipeline;
  const deep = Math.max(DEEPER * k, MIN_DEEP);
  const request = { text, tags, k, withText: true };
  const first = await retriever.retrieve({ ...request, withStages: true }, signal);
  const asked = rankingOf(first);
  const deeper = rankingOf(await retriever.retrieve({ ...request, k: deep }, signal));
  const hasTags = Object.keys(tags).length > 0;
  const untagged = hasTags ? rankingOf(await retriever.retrieve({ ...request, tags: {} }, signal)) : null;
  const stages = first.kind === 'documents' ? (first.stages ?? []) : [];
  return {
    k,
    asked,
    deeper,
    stages: stages.map(({ name, isSide = false, documents }) => ({ name, isSide, documents: documents.map(toRanked) })),
    untagged,
    filters,
    hubs,
    store: await lookIntoStore(pipeline, text, k, deep, asked, signal),
  };
}

async function lookIntoStore(
  { store, embedder }: WatchedPipeline,
  text: string,
  k: number,
  deep: number,
  asked: Ranking,
  signal: AbortSignal,
): Promise<SeenQuestion['store']> {
  if (store === null) {
    const nothing = noRanking('No vector store is configured.');
    return { kind: null, nearest: nothing, broad: nothing, isBroadExact: false, shared: null, breadth: null };
  }
  const given = [...new Set(asked.documents.map(({ id }) => id))];
  const existing = await store.existing(given, signal);
  const about = {
    kind: store.kind,
    shared: existing.kind === 'ok' ? { found: existing.value.size, of: given.length } : null,
    breadth: breadthOf[store.kind] ?? null,
  };
  const embedded = await embedTexts(embedder, [text], signal);
  const [vector] = embedded.kind === 'vectors' ? embedded.vectors : [];
  if (vector === undefined) {
    const nothing = noRanking(embedded.kind === 'unknown' ? embedded.reason : 'The embedder returned no vector.');
    return { ...about, nearest: nothing, broad: nothing, isBroadExact: false };
  }
  const search = async (count: number, exact: boolean) =>
    store.nearest({ vector, filter: {}, withContent: true, k: count, exact }, signal);
  const nearest = rankingOfStore(await search(k, false));
  const exact = await search(deep, true);
  const broad = exact.kind === 'ok' ? exact : await search(deep, false);
  return { ...about, nearest, broad: rankingOfStore(broad), isBroadExact: exact.kind === 'ok' };
}

/** A search for a document's own text must return the document among this many results. */
const FOUND_AMONG = 10;

/**
 * Tests whether a search for a document's own text finds the document. As a control, also tests another document that
 * the store returns for the query.
 */
export async function lookAtVector(
  { store, embedder }: WatchedPipeline,
  { store: seen }: SeenQuestion,
  id: string,
  signal: AbortSignal,
): Promise<SeenDocument['vector']> {
  const other = seen.nearest.documents.find((one) => one.id !== id)?.id;
  if (store === null || other === undefined) return null;
  const found = await store.chunks([id, other], signal);
  if (found.kind !== 'ok' || !found.value.some((one) => one.id === other)) return null;
  if (!found.value.some((one) => one.id === id)) return 'none';
  const texts = [id, other].flatMap((one) => textOf(found.value, one) ?? []);
  const embedded = texts.length < 2 ? null : await embedTexts(embedder, texts, signal);
  const [own, others] = embedded?.kind === 'vectors' ? embedded.vectors : [];
  if (own === undefined || others === undefined) return null;
  const isOtherFound = await finds(store, others, other, signal);
  if (isOtherFound !== true) return null;
  const isFound = await finds(store, own, id, signal);
  return isFound === null ? null : isFound ? 'fits' : 'unfit';
}

/** Returns true if the store finds the document; null if the store does not respond. */
async function finds(store: VectorStore, vector: Float32Array, id: string, signal: AbortSignal) {
  const request = { vector, k: FOUND_AMONG, filter: {}, withContent: false };
  const exact = await store.nearest({ ...request, exact: true }, signal);
  const answer = exact.kind === 'unsupported' ? await store.nearest({ ...request, exact: false }, signal) : exact;
  return answer.kind === 'ok' ? answer.value.neighbours.some((one) => one.id === id) : null;
}

function textOf(chunks: readonly StoredChunk[], id: string): string | null {
  return chunks.find((one) => one.id === id && one.content !== null && one.content !== '')?.content ?? null;
}

const noRanking = (problem: string): Ranking => ({ documents: [], problem });

function rankingOf(answer: RetrieverAnswer): Ranking {
  return answer.kind === 'documents'
    ? { documents: answer.documents.map(toRanked), problem: null }
    : noRanking(answer.message);
}

const toRanked = ({ id, score, text = null }: { id: string; score: number | null; text?: string | null }) => ({
  id,
  score,
  text,
});

function rankingOfStore(outcome: Awaited<ReturnType<VectorStore['nearest']>>): Ranking {
  if (outcome.kind !== 'ok') return noRanking(outcome.kind === 'unsupported' ? outcome.reason : outcome.message);
  const { neighbours } = outcome.value;
  const documents = neighbours.map(({ id, similarity, content }) => ({ id, score: similarity, text: content }));
  return { documents, problem: null };
}

/** Time span of the live queries that are examined for hub documents. */
const HUBS_MS = 7 * DAY_MS;
const MAX_QUERIES = 5000;

/** Returns hub documents, each with the share of queries that retrieve it; empty if there are too few queries. */
export async function lookForHubs(
  { db, clock }: Context,
  pipeline: string,
  k: number,
): Promise<ReadonlyMap<string, number>> {
  const since = new Date(clock.now().getTime() - HUBS_MS);
  const hubs = findHubs(await db.index.returned.documents({ pipeline, since, k, limit: MAX_QUERIES }, [])) ?? [];
  return new Map(hubs.map(({ id, share }) => [id, share]));
}

/**
 * Reads the state and history of documents, in the order of the ids.
 *
 * @param asked golden queries whose earlier results may contain the documents; null for all
 * @throws the abort reason of `signal`, and database errors
 */
export async function lookForDocuments(
  { db }: Context,
  { name, store }: WatchedPipeline,
  ids: readonly string[],
  asked: readonly string[] | null,
  signal: AbortSignal,
): Promise<SeenDocument[]> {
  const existing = store === null ? null : await store.existing(ids, signal);
  const stored = existing?.kind === 'ok' ? existing.value : null;
  const [seen, returned] = await Promise.all([
    db.golden.documents.seen(name, ids),
    db.golden.runReads.lastReturned(name, ids, asked),
  ]);
  return Promise.all(
    ids.map(async (id) => {
      const { content = null, seenAt = null } = seen.get(id) ?? {};
      const last = returned.get(id) ?? null;
      const since = [seenAt, last?.at ?? null].flatMap((at) => at ?? []).toSorted((a, b) => Number(b) - Number(a))[0];
      const isGone = stored !== null && !stored.has(id);
      const changes =
        isGone && since !== undefined
          ? await db.live.deployments.list({ pipeline: name, since, limit: MAX_CHANGES })
          : [];
      return {
        id,
        isStored: stored?.has(id) ?? null,
        storedAt: seenAt,
        text: content,
        returned: last,
        vector: null,
        changes: changes.map(({ kind, version, occurredAt: at }) => ({ kind, version, at })),
      };
    }),
  );
}
