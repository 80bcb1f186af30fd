/** What other spans of a trace add to its live queries: vectors, the final order, the person. */

import type { RetrievedDocument } from '../../../core/model.ts';
import { type LiveQuery, type LiveStage, liveStage, type VersionStamps, withResults } from '../live-query.ts';
import type { Person } from './request-tags.ts';

interface InTrace {
  readonly traceId: string;
  /** The span that tells it, and when that ended. */
  readonly spanId: string;
  readonly endedAtUnixNano: bigint;
  /** Null when the span belongs to none, or does not tell. */
  readonly pipeline: string | null;
  /** The id of the live query that the span lies within, or would, if its parent is a retriever; null for a root. */
  readonly within: string | null;
}

/** The vector of a text, from an embedding span. */
interface EmbeddingFragment extends InTrace {
  readonly kind: 'embedding';
  /** Null: not told. */
  readonly text: string | null;
  readonly vector: Float32Array;
  readonly model: string | null;
}

/** The final order, from a reranker span; without results, only that it ran. */
interface RerankFragment extends InTrace {
  readonly kind: 'rerank';
  readonly text: string | null;
  readonly topK: number | null;
  readonly latencyMs: number | null;
  /** Best first; `score` is the reranker's. */
  readonly results: readonly RetrievedDocument[];
}

/** Session and user, from a span around the retriever's. */
export interface PersonFragment extends InTrace, Person {
  readonly kind: 'person';
}

export type TraceFragment = EmbeddingFragment | RerankFragment | PersonFragment;

/** What of a live query is completed, or decides with what. Texts and people may be stand-ins, if they are so in both. */
export interface Completable
  extends Pick<
    LiveQuery,
    'id' | 'traceId' | 'text' | 'embedding' | 'topK' | 'results' | 'stages' | 'latencyMs' | 'sessionId' | 'userId'
  > {
  readonly versions: Pick<VersionStamps, 'embedder'>;
}

export interface Completion<Query> {
  /** In the given order. */
  readonly queries: readonly Query[];
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
 * - **Stages**: of a query that a reranker orders, what was retrieved before and what it made of that; of one with a
 *   reranker within its own span, or without documents in a trace with one query, the reranker alone. The stages that a
 *   service tells of itself stay as they are.
 * - **Person**: session and user, each when all fragments of the trace agree on it.
 *
 * The same call serves spans that came in one export and those that came in another: give it the stored queries of a
 * trace with all of its fragments, in the order in which their spans ended. To complete once more changes nothing.
 */
export function completeQueries<Query extends Completable>(
  queries: readonly Query[],
  fragments: readonly TraceFragment[],
): Completion<Query> {
  const traces = new Map<string, TraceParts>();
  for (const fragment of fragments) {
    const parts = traces.get(fragment.traceId) ?? { embeddings: [], reranks: [], people: [] };
    traces.set(fragment.traceId, parts);
    if (fragment.kind === 'embedding') parts.embeddings.push(fragment);
    else if (fragment.kind === 'rerank') parts.reranks.push(fragment);
    else parts.people.push(fragment);
  }
  const queriesOfTrace = new Map<string | null, number>();
  for (const { traceId } of queries) queriesOfTrace.set(traceId, (queriesOfTrace.get(traceId) ?? 0) + 1);

  const used = new Set<TraceFragment>();
  const finders = new Map([...traces].map(([traceId, parts]) => [traceId, embeddingFinder(parts.embeddings)]));
  const people = new Map([...traces].map(([traceId, parts]) => [traceId, agreedPerson(parts.people)]));
  const completed = queries.map((query) => {
    const traceId = query.traceId ?? '';
    const parts = traces.get(traceId);
    if (parts === undefined) return query;
    const isAlone = queriesOfTrace.get(query.traceId) === 1;
    const embedding = query.embedding === null ? finders.get(traceId)?.(query, isAlone) : undefined;
    const rerank = findOrder(query, parts.reranks);
    const stage = rerank === undefined ? findStage(query, parts.reranks, isAlone) : undefined;
    for (const fragment of [embedding, rerank, stage]) if (fragment !== undefined) used.add(fragment);
    return withPerson(withStage(withOrder(withEmbedding(query, embedding), rerank), stage), people.get(traceId));
  });
  const isUnused = (fragment: TraceFragment) =>
    fragment.kind === 'person' ? !queriesOfTrace.has(fragment.traceId) : !used.has(fragment);
  return { queries: completed, unused: fragments.filter(isUnused) };
}

interface TraceParts {
  readonly embeddings: EmbeddingFragment[];
  readonly reranks: RerankFragment[];
  readonly people: PersonFragment[];
}

/** More rerankers of one trace are not looked at: each is compared with each query. */
const MAX_RERANKS = 100;

function embeddingFinder(embeddings: readonly EmbeddingFragment[]) {
  const byText = new Map(embeddings.toReversed().map((fragment) => [fragment.text, fragment]));
  /** Undefined: the query has several within it. */
  const onlyWithin = new Map<string | null, EmbeddingFragment | undefined>();
  for (const fragment of embeddings)
    onlyWithin.set(fragment.within, onlyWithin.has(fragment.within) ? undefined : fragment);
  return ({ id, text }: Completable, isAlone: boolean): EmbeddingFragment | undefined =>
    (text === null ? undefined : byText.get(text)) ??
    onlyWithin.get(id) ??
    (isAlone && embeddings.length === 1 ? embeddings[0] : undefined);
}

function findOrder(query: Completable, reranks: readonly RerankFragment[]): RerankFragment | undefined {
  if (reranks.length === 0) return undefined;
  const ids = new Set(query.results.map((document) => document.id));
  return reranks.slice(-MAX_RERANKS).findLast((fragment) => {
    if (fragment.within === query.id || fragment.results.length === 0) return false;
    if (fragment.text !== null && query.text !== null && fragment.text !== query.text) return false;
    return fragment.results.every((document) => ids.has(document.id));
  });
}

function withEmbedding<Query extends Completable>(query: Query, fragment: EmbeddingFragment | undefined): Query {
  if (fragment === undefined) return query;
  const embedder = query.versions.embedder ?? fragment.model;
  const text = query.text ?? fragment.text;
  return { ...query, text, embedding: fragment.vector, versions: { ...query.versions, embedder } };
}

function withOrder<Query extends Completable>(query: Query, fragment: RerankFragment | undefined): Query {
  if (fragment === undefined) return query;
  const scores = new Map(query.results.map((document) => [document.id, document.score]));
  const results = fragment.results.map(({ id }) => ({ id, score: scores.get(id) ?? null }));
  return { ...query, results, stages: stagesInOrder(query, fragment), topK: fragment.topK ?? query.topK };
}

/** What OpenTelemetry tells of: what retrievers brought, and what a reranker made of it. */
export const RETRIEVAL = 'retrieval';
const RERANK = 'rerank';

const isTraced = ({ name }: LiveStage): boolean => name === RETRIEVAL || name === RERANK;

/** Each time from the order of the retriever, so that a later reranker gives what it would have given alone. */
function stagesInOrder(query: Completable, fragment: RerankFragment): readonly LiveStage[] {
  const { stages, latencyMs } = query;
  const before = query.results.map(({ id }) => id);
  const after = fragment.results.map(({ id }) => id);
  const isSame = after.length === before.length && after.every((id, rank) => id === before[rank]);
  if (isSame && stages.length > 0) return stages;
  const told = stages.map((stage) => withResults(stage, before, after));
  if (!told.every(isTraced)) return told;
  const retrieval = told.find(({ name }) => name === RETRIEVAL);
  const whole = () => liveStage({ name: RETRIEVAL, isSide: false, latencyMs }, before, after);
  return [retrieval ?? whole(), rerankStage(fragment, after)];
}

function rerankStage({ latencyMs, results }: RerankFragment, answered: readonly string[]): LiveStage {
  const ids = results.length === 0 ? null : results.map(({ id }) => id);
  return liveStage({ name: RERANK, isSide: false, latencyMs }, ids, answered);
}

/** A reranker that changes no order: within the query's own span, or of which nobody knows what it put out. */
function findStage(
  query: Completable,
  reranks: readonly RerankFragment[],
  isAlone: boolean,
): RerankFragment | undefined {
  if (reranks.length === 0 || !query.stages.every(({ name }) => name === RETRIEVAL)) return undefined;
  return (
    reranks.findLast(({ within }) => within === query.id) ??
    (isAlone ? reranks.findLast(({ results }) => results.length === 0) : undefined)
  );
}

function withStage<Query extends Completable>(query: Query, fragment: RerankFragment | undefined): Query {
  if (fragment === undefined) return query;
  const answered = query.results.map(({ id }) => id);
  return { ...query, stages: [...query.stages, rerankStage(fragment, answered)] };
}

function withPerson<Query extends Completable>(query: Query, person: Person | undefined): Query {
  const sessionId = query.sessionId ?? person?.sessionId ?? null;
  return { ...query, sessionId, userId: query.userId ?? person?.userId ?? null };
}

function agreedPerson(people: readonly Person[]): Person {
  return {
    sessionId: agreed(people.map((person) => person.sessionId)),
    userId: agreed(people.map((person) => person.userId)),
  };
}

function agreed(values: readonly (string | null)[]): string | null {
  const told = new Set(values.filter((value) => value !== null));
  const [only] = told;
  return told.size === 1 && only !== undefined ? only : null;
}
