/** What other spans of a trace add to its live queries: vectors, the final order, the person. */
import type { LiveQuery } from '../live/live-query.ts';
import type { RetrievedDocument } from '../model.ts';
import type { Person } from './person.ts';

interface InTrace {
  readonly traceId: string;
  /** The id of the live query that the span lies within, or would, if its parent is a retriever; null for a root. */
  readonly within: string | null;
}

/** The vector of a text, from an embedding span. */
export interface EmbeddingFragment extends InTrace {
  readonly kind: 'embedding';
  /** Null: not told. */
  readonly text: string | null;
  readonly vector: Float32Array;
  readonly model: string | null;
}

/** The final order, from a reranker span. */
export interface RerankFragment extends InTrace {
  readonly kind: 'rerank';
  readonly text: string | null;
  readonly topK: number | null;
  /** Best first; `score` is the reranker's. */
  readonly results: readonly RetrievedDocument[];
}

/** Session and user, from a span around the retriever's. */
export interface PersonFragment extends InTrace, Person {
  readonly kind: 'person';
}

export type TraceFragment = EmbeddingFragment | RerankFragment | PersonFragment;

export interface Completion {
  /** In the given order. */
  readonly queries: readonly LiveQuery[];
  /** Those that no query was completed with. */
  readonly unused: readonly TraceFragment[];
}

/**
 * Adds to live queries what fragments of their traces tell. What a query already has is never replaced, save the
 * order of its results.
 *
 * - **Embedding**: of the fragments of the trace, the one with the text of the query, else the only one within its
 *   span, else the only one of a trace with one query (the text may have been rewritten before it was embedded). Its
 *   text becomes that of a query without one: some retrievers are given only the vector.
 * - **Rerank**: the results become the reranker's, in its order and cut off where it cut off, when all of them are
 *   among the query's and the texts do not differ; of several the last. Their scores stay the retriever's, null where
 *   it gave none: a reranker's score is on another scale, and mixing the two would look like drift. A reranker within
 *   the retriever's own span changes nothing, since that span's results are after it; nor does one that merges
 *   several retrievers, whose order says nothing of one of them.
 * - **Person**: session and user, each when all fragments of the trace agree on it.
 *
 * The same call serves spans that came in one export and those that came later: give it the stored queries of a
 * trace with its late fragments.
 */
export function completeQueries(
  queries: readonly LiveQuery[],
  fragments: readonly TraceFragment[],
): Completion {
  const byTrace = groupBy(fragments, (fragment) => fragment.traceId);
  const queriesOfTrace = groupBy(queries, (query) => query.traceId);
  const used = new Set<TraceFragment>();

  const completed = queries.map((query) => {
    const trace = byTrace.get(query.traceId ?? '');
    if (trace === undefined) return query;
    const isAlone = queriesOfTrace.get(query.traceId)?.length === 1;
    const embedding = query.embedding === null ? findEmbedding(query, trace, isAlone) : undefined;
    const rerank = trace.findLast((fragment) => fragment.kind === 'rerank' && isOrderOf(fragment, query));
    const people = trace.filter((fragment) => fragment.kind === 'person');
    for (const fragment of [embedding, rerank, ...people]) if (fragment !== undefined) used.add(fragment);
    return withPerson(withOrder(withEmbedding(query, embedding), rerank), people);
  });
  return { queries: completed, unused: fragments.filter((fragment) => !used.has(fragment)) };
}

function findEmbedding(
  query: LiveQuery,
  trace: readonly TraceFragment[],
  isAlone: boolean,
): EmbeddingFragment | undefined {
  const embeddings = trace.filter((fragment) => fragment.kind === 'embedding');
  const [within, ...others] = embeddings.filter((fragment) => fragment.within === query.id);
  return (
    embeddings.find((fragment) => fragment.text !== null && fragment.text === query.text) ??
    (others.length === 0 ? within : undefined) ??
    (isAlone && embeddings.length === 1 ? embeddings[0] : undefined)
  );
}

function isOrderOf(fragment: RerankFragment, query: LiveQuery): boolean {
  if (fragment.within === query.id || fragment.results.length === 0) return false;
  if (fragment.text !== null && query.text !== null && fragment.text !== query.text) return false;
  const ids = new Set(query.results.map((document) => document.id));
  return fragment.results.every((document) => ids.has(document.id));
}

function withEmbedding(query: LiveQuery, fragment: EmbeddingFragment | undefined): LiveQuery {
  if (fragment === undefined) return query;
  const embedder = query.versions.embedder ?? fragment.model;
  const text = query.text ?? fragment.text;
  return { ...query, text, embedding: fragment.vector, versions: { ...query.versions, embedder } };
}

function withOrder(query: LiveQuery, fragment: TraceFragment | undefined): LiveQuery {
  if (fragment?.kind !== 'rerank') return query;
  const scores = new Map(query.results.map((document) => [document.id, document.score]));
  const results = fragment.results.map(({ id }) => ({ id, score: scores.get(id) ?? null }));
  return { ...query, results, topK: fragment.topK ?? query.topK };
}

function withPerson(query: LiveQuery, people: readonly PersonFragment[]): LiveQuery {
  const sessionId = query.sessionId ?? agreed(people.map((person) => person.sessionId));
  const userId = query.userId ?? agreed(people.map((person) => person.userId));
  return { ...query, sessionId, userId };
}

function agreed(values: readonly (string | null)[]): string | null {
  const told = new Set(values.filter((value) => value !== null));
  const [only] = told;
  return told.size === 1 && only !== undefined ? only : null;
}

function groupBy<K, T>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
