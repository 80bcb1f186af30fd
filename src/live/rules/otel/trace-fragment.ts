/**
 * Completes live queries with data from other spans in the same trace: vectors, reranked order, user, session and
 * episode.
 */

import { groupBy } from '../../../core/group-by.ts';
import type { RetrievedDocument } from '../../../core/model.ts';
import { type LiveQuery, type LiveStage, liveStage, type VersionStamps, withResults } from '../live-query.ts';
import type { Person } from './request-tags.ts';
import { liveQueryId } from './span.ts';
import type { EpisodeScope } from './trace-index.ts';

interface InTrace {
  readonly traceId: string;
  readonly spanId: string;
  readonly endedAtUnixNano: bigint;
  /** Pipeline of the span; null if unknown. */
  readonly pipeline: string | null;
  /**
   * Live query id that is derived from the parent span; null for a root span. A live query with this id exists only if
   * the parent span is a retriever.
   */
  readonly within: string | null;
}

interface EmbeddingFragment extends InTrace {
  readonly kind: 'embedding';
  readonly text: string | null;
  readonly vector: Float32Array;
  readonly model: string | null;
}

/** The reranked order, from a reranker span. A fragment without results only shows that the reranker ran. */
interface RerankFragment extends InTrace {
  readonly kind: 'rerank';
  readonly text: string | null;
  readonly topK: number | null;
  readonly latencyMs: number | null;
  /** Reranked documents, best first; `score` is the reranker's score. */
  readonly results: readonly RetrievedDocument[];
}

/** Session and user, from an ancestor of the retriever span. */
export interface PersonFragment extends InTrace, Person {
  readonly kind: 'person';
}

/** An agent, workflow or chain span, whose retrievals form one episode. */
export interface EpisodeFragment extends InTrace {
  readonly kind: 'episode';
  readonly scope: EpisodeScope;
  readonly startedAtUnixNano: bigint;
  /** Text of the user's question; null if unknown. */
  readonly text: string | null;
}

export type TraceFragment = EmbeddingFragment | RerankFragment | PersonFragment | EpisodeFragment;

/**
 * Fields of a live query that completion reads or changes. Texts, users and sessions may be hashed if the fragments
 * also contain the hashes.
 */
export interface Completable
  extends Omit<LiveQuery, 'pipeline' | 'context' | 'error' | 'segments' | 'upstreamProbability' | 'versions'> {
  readonly versions: Pick<VersionStamps, 'embedder'>;
}

/**
 * Completes live queries with the fragments of their traces. Never replaces existing data, except the order of results.
 *
 * - **Embedding**: uses the first of these fragments that exists: the fragment with the text of the query, the only
 *   fragment inside its span, or the only fragment of the trace. This last fragment is used only if the trace has one
 *   query (whose text may have been rewritten before embedding), or if the query has no text. A query without a text
 *   gets the text of the fragment, because some retrievers, such as the vector half of a hybrid search in Haystack,
 *   receive the vector alone.
 * - **Rerank**: the results get the order and the length of the output of the last reranker whose documents are all
 *   among the results. A reranker with another query text is ignored. The scores remain those of the retriever (null if
 *   missing), because reranker scores have another scale, and a mix of both would look like drift. A reranker inside the
 *   retriever span changes nothing, because the results of the span already reflect it. A reranker that merges the
 *   results of several retrievers also changes nothing.
 * - **Stages**: a reranked query gets two stages, the retrieval and the reranker. If the reranker is inside the
 *   retriever span, or if it has no documents and the trace has one query, the query gets the reranker stage and no
 *   other stage. Stages that the service reported are not replaced.
 * - **Person**: the query gets the session and the user if all fragments of the trace agree on them.
 * - **Episode**: if a query has no episode other than its trace, a span that was running when the query started becomes
 *   the episode. The shortest agent span is preferred, then the shortest workflow span, then the longest chain span. If
 *   two spans of the same kind arrive in separate exports, the first to arrive becomes the episode, because an inner
 *   agent ends before an outer one.
 *
 * Returns the queries in the given order. Works across exports: pass the stored queries of a trace with all its
 * fragments, ordered by the end times of their spans. Idempotent.
 */
export function completeQueries<Query extends Completable>(
  queries: readonly Query[],
  fragments: readonly TraceFragment[],
) {
  const traces = new Map<string | null, ReturnType<typeof partsOf>>();
  for (const [traceId, own] of groupBy(fragments, (fragment) => fragment.traceId)) traces.set(traceId, partsOf(own));
  const queriesOfTrace = new Map<string | null, number>();
  for (const { traceId } of queries) queriesOfTrace.set(traceId, (queriesOfTrace.get(traceId) ?? 0) + 1);

  const used = new Set<TraceFragment>();
  const completed = queries.map((query) => {
    const parts = traces.get(query.traceId);
    if (parts === undefined) return query;
    const isAlone = queriesOfTrace.get(query.traceId) === 1;
    const embedding = query.embedding === null ? parts.findEmbedding(query, isAlone) : undefined;
    const rerank = findOrder(query, parts.reranks);
    const stage = rerank === undefined ? findStage(query, parts.reranks, isAlone) : undefined;
    for (const fragment of [embedding, rerank, stage]) if (fragment !== undefined) used.add(fragment);
    const retrieved = withStage(withOrder(withEmbedding(query, embedding), rerank), stage);
    return withEpisode(withPerson(retrieved, parts.person), parts.episodes);
  });
  const isUnused = (fragment: TraceFragment) =>
    fragment.kind === 'person' || fragment.kind === 'episode'
      ? !queriesOfTrace.has(fragment.traceId)
      : !used.has(fragment);
  return { queries: completed, unused: fragments.filter(isUnused) };
}

function partsOf(fragments: readonly TraceFragment[]) {
  return {
    findEmbedding: embeddingFinder(fragments.filter((one) => one.kind === 'embedding')),
    reranks: fragments.filter((one) => one.kind === 'rerank'),
    person: agreedPerson(fragments.filter((one) => one.kind === 'person')),
    episodes: fragments.filter((one) => one.kind === 'episode'),
  };
}

/** Maximum number of rerankers per trace; each is compared with each query. */
const MAX_RERANKS = 100;

function embeddingFinder(embeddings: readonly EmbeddingFragment[]) {
  const byText = new Map(embeddings.toReversed().map((fragment) => [fragment.text, fragment]));
  /** For each query, the only fragment within its span; undefined if there are several. */
  const onlyWithin = new Map<string | null, EmbeddingFragment | undefined>();
  for (const fragment of embeddings)
    onlyWithin.set(fragment.within, onlyWithin.has(fragment.within) ? undefined : fragment);
  return ({ id, text }: Completable, isAlone: boolean): EmbeddingFragment | undefined =>
    (text === null ? undefined : byText.get(text)) ??
    onlyWithin.get(id) ??
    ((isAlone || text === null) && embeddings.length === 1 ? embeddings[0] : undefined);
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
  const known = new Map(query.results.map((document) => [document.id, document]));
  const results = fragment.results.map(({ id }) => known.get(id) ?? { id, score: null });
  return { ...query, results, stages: stagesInOrder(query, fragment), topK: fragment.topK ?? query.topK };
}

/** Names of the stages that are derived from OpenTelemetry spans. */
export const RETRIEVAL = 'retrieval';
const RERANK = 'rerank';

const isTraced = ({ name }: LiveStage): boolean => name === RETRIEVAL || name === RERANK;

/** Derives the stages from the original retrieval, so that the result does not depend on earlier rerankers. */
function stagesInOrder(query: Completable, fragment: RerankFragment): readonly LiveStage[] {
  const { stages, latencyMs } = query;
  const before = query.results.map(({ id }) => id);
  const after = fragment.results.map(({ id }) => id);
  const isSame = after.length === before.length && after.every((id, rank) => id === before[rank]);
  if (isSame && stages.length > 0) return stages;
  const updated = stages.map((stage) => withResults(stage, before, after));
  if (!updated.every(isTraced)) return updated;
  const retrieval = updated.find(({ name }) => name === RETRIEVAL);
  const whole = () => liveStage({ name: RETRIEVAL, isSide: false, latencyMs }, before, after);
  return [retrieval ?? whole(), rerankStage(fragment, after)];
}

function rerankStage({ latencyMs, results }: RerankFragment, answered: readonly string[]): LiveStage {
  const ids = results.length === 0 ? null : results.map(({ id }) => id);
  return liveStage({ name: RERANK, isSide: false, latencyMs }, ids, answered);
}

/**
 * Finds a reranker that does not change the order, because it is inside the retriever span or its output is unknown.
 */
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

function withPerson<Query extends Completable>(query: Query, person: Person): Query {
  return { ...query, sessionId: query.sessionId ?? person.sessionId, userId: query.userId ?? person.userId };
}

function withEpisode<Query extends Completable>(query: Query, fragments: readonly EpisodeFragment[]): Query {
  const { episode, traceId } = query;
  if (episode === null || traceId === null || fragments.length === 0) return query;
  const idOf = (fragment: EpisodeFragment) => liveQueryId(fragment.traceId, fragment.spanId);
  const known = fragments.find((fragment) => idOf(fragment) === episode.id);
  const isOpen = episode.id === traceId || known !== undefined;
  const found = isOpen ? runningEpisode(query, fragments) : undefined;
  const chosen = found === undefined || known?.scope === found.scope ? known : found;
  if (chosen === undefined) return query;
  const isSame = chosen === known;
  const originalText = (isSame ? episode.originalText : null) ?? chosen.text;
  if (isSame && originalText === episode.originalText) return query;
  return { ...query, episode: { ...episode, id: idOf(chosen), originalText } };
}

const byScope: readonly EpisodeScope[] = ['agent', 'workflow', 'chain'];

/**
 * Returns a span that was running when the query started. Prefers the shortest agent span, then the shortest workflow
 * span, then the longest chain span.
 */
function runningEpisode(
  { occurredAt }: Completable,
  fragments: readonly EpisodeFragment[],
): EpisodeFragment | undefined {
  if (occurredAt === null) return undefined;
  // Times of queries are whole milliseconds, rounded down.
  const startedAt = BigInt(occurredAt.getTime());
  const running = fragments
    .filter(
      ({ startedAtUnixNano, endedAtUnixNano }) =>
        startedAtUnixNano / 1_000_000n <= startedAt && startedAt <= endedAtUnixNano / 1_000_000n,
    )
    .toSorted((a, b) => (lengthOf(a) < lengthOf(b) ? -1 : 1));
  for (const scope of byScope) {
    const own = running.filter((fragment) => fragment.scope === scope);
    if (own.length > 0) return scope === 'chain' ? own.at(-1) : own[0];
  }
  return undefined;
}

function lengthOf({ startedAtUnixNano, endedAtUnixNano }: EpisodeFragment): bigint {
  return endedAtUnixNano - startedAtUnixNano;
}

function agreedPerson(people: readonly Person[]): Person {
  return {
    sessionId: agreed(people.map((person) => person.sessionId)),
    userId: agreed(people.map((person) => person.userId)),
  };
}

function agreed(values: readonly (string | null)[]): string | null {
  const known = new Set(values.filter((value) => value !== null));
  const [only] = known;
  return known.size === 1 && only !== undefined ? only : null;
}
