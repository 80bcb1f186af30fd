/** Extracts live queries and feedback from the spans of one export. */
import { groupBy } from '../../../core/group-by.ts';
import type { RetrievedDocument } from '../../../core/model.ts';
import { contextSize } from '../../../core/text/context-size.ts';
import { DAY_MS } from '../../../core/time.ts';
import { type LiveQuery, type LiveStage, liveStage, type QueryEpisode } from '../live-query.ts';
import type { TracedDocument } from './document-shapes.ts';
import { readSpanFeedback } from './feedback.ts';
import { readQueryText, readQueryVector, readRequest, readTopK } from './query-input.ts';
import { readPerson, readSegments } from './request-tags.ts';
import {
  type ExtractionOptions,
  identifyDocuments,
  readRerankedDocuments,
  readRetrievedDocuments,
} from './retrieved-documents.ts';
import {
  liveQueryId,
  type OtlpSpan,
  readCount,
  readFirst,
  readFlattened,
  readShortText,
  readText,
  readVector,
  samplingProbability,
  toDate,
} from './span.ts';
import { untracedSearches } from './tool-calls.ts';
import { completeQueries, RETRIEVAL, type TraceFragment } from './trace-fragment.ts';
import {
  type EpisodeScope,
  episodeScope,
  errorOf,
  hasSeveralQueries,
  indexSpans,
  type TraceIndex,
} from './trace-index.ts';
import { reasonOf, summarize, type UnreadableReason, type UnreadableSpan } from './unreadable-retriever.ts';

export type Extraction = ReturnType<typeof extractLiveQueries>;

/**
 * Extracts live queries and feedback from the spans of one export.
 *
 * - A live query is an outermost retriever span: an ensemble is one query, and so is a retriever that contains a vector
 *   store span. If the outer span has no vector, the vector of an inner span is used; if the outer span has no
 *   documents and there is only one inner retriever, the documents of that retriever are used. If `pipelineOf` returns
 *   null for the outer span, the inner spans are the queries.
 * - The id of a live query is `<trace id>-<span id>`, so a retried export produces the same queries.
 * - A retriever span that does not report its documents is not a live query, because it would count as an empty result.
 *   A failed retriever span is a live query.
 * - Each export is processed separately. The spans of a trace may arrive in several exports, so data for queries in
 *   other exports is returned as `fragments`.
 */
export function extractLiveQueries(spans: readonly OtlpSpan[], options: ExtractionOptions) {
  const index = indexSpans(
    spans,
    (span) => options.pipelineOf(span) !== null,
    (span) => options.toolOf(span) !== null,
  );
  const retrievers = index.spans.filter((span) => index.roleOf(span) === 'retriever');
  const outermost = retrievers.filter((span) => index.retrieverAround(span) === span);
  const innerOf = groupBy(
    retrievers.filter((span) => index.retrieverAround(span) !== span),
    index.retrieverAround,
  );
  const used = new Set<OtlpSpan>();

  const unreadable: UnreadableSpan[] = [];
  const drafts = outermost.flatMap((span) => {
    used.add(span);
    const query = readLiveQuery(span, innerOf.get(span) ?? [], index, options);
    if (typeof query === 'object') return [query];
    unreadable.push({ span, pipeline: options.pipelineOf(span) ?? '', reason: query });
    return [];
  });
  const cutOff = unreadable.filter(({ span, reason }) => reason === 'cut_off' && !isTruncated(span, index));

  const wantedTexts = new Set(drafts.flatMap(({ text }) => text ?? []));
  const inOrder = index.spans.toSorted((a, b) => Number(a.endTimeUnixNano - b.endTimeUnixNano));
  const fragments = inOrder.flatMap((span) => {
    const found = readFragments(span, index, options, wantedTexts);
    if (found.length > 0) used.add(span);
    return found;
  });
  const { queries, unused } = completeQueries(drafts, fragments);
  const { feedback, annotatedSpans } = readSpanFeedback(index, queries, options);
  for (const span of annotatedSpans) used.add(span);

  return {
    queries,
    feedback,
    /**
     * Fragments that may complete earlier or later live queries of these traces (see `completeQueries`). Fragments with
     * users, sessions and episodes are included even if a query of this export already has them, because they apply to
     * the whole trace.
     */
    fragments: [
      ...unused.filter(({ kind }) => kind !== 'person' && kind !== 'episode'),
      ...fragments.filter(({ kind }) => kind === 'episode'),
      ...peopleOf(fragments),
    ],
    /** Number of retriever, embedding, reranker and evaluator spans with dropped or truncated attributes or events. */
    truncatedSpans: index.spans.filter((span) => isTruncated(span, index)).length + cutOff.length,
    /**
     * Number of spans that are not retrievers and produced neither a fragment nor feedback. Most spans are such spans.
     */
    ignoredSpans: index.spans.length - used.size,
    /** Number of retriever spans without a pipeline. */
    spansWithoutPipeline: index.spans.filter((span) => index.isUnwatched(span)).length,
    /** Retriever spans without a query, by kind. A span that explicitly reports an empty list does produce a query. */
    unreadableRetrievers: summarize(unreadable),
    /** Searches without a retriever span, by kind. */
    untracedSearches: untracedSearches(index, (span) => options.pipelineOf(span)),
  };
}

function readLiveQuery(
  span: OtlpSpan,
  inner: readonly OtlpSpan[],
  index: TraceIndex,
  options: ExtractionOptions,
): LiveQuery | UnreadableReason {
  const pipeline = options.pipelineOf(span);
  const error = errorOf(span);
  const read = readResults(span, inner, options);
  if (pipeline === null || (typeof read === 'string' && error === null)) return read as UnreadableReason;
  const found = typeof read === 'string' ? { results: [], context: null } : read;
  const around = [span, ...index.ancestorsOf(span)].map(({ attributes }) => attributes);
  return {
    id: liveQueryId(span.traceId, span.spanId),
    pipeline,
    occurredAt: toDate(span.startTimeUnixNano),
    text: options.toolOf(span)?.readText(span) ?? readQueryText(span),
    embedding: readQueryVector(span),
    topK: readTopK(span),
    traceId: span.traceId,
    episode: readEpisode(span, index),
    ...readPerson(around),
    ...found,
    latencyMs: latencyOf([span]),
    stages: readStages(span, inner, found.results, options),
    error,
    segments: readSegments([...around, span.resource.attributes], options.segmentKeysOf(pipeline)),
    versions: {
      index: readFirst(span.attributes, ['gen_ai.data_source.id', 'db.collection.name'], readShortText),
      embedder: readEmbeddingModel(span),
      retriever: readShortText(span.resource.attributes['service.version']),
    },
    upstreamProbability: samplingProbability(span),
  };
}

/**
 * Returns the time from the first start to the last end; null if this time is implausible, or if a span has no times.
 */
function latencyOf(spans: readonly OtlpSpan[]): number | null {
  if (spans.some(({ startTimeUnixNano: start, endTimeUnixNano: end }) => start <= 0n || end <= 0n)) return null;
  const start = spans.reduce((first, { startTimeUnixNano: at }) => (at < first ? at : first), 2n ** 64n);
  const end = spans.reduce((last, { endTimeUnixNano: at }) => (at > last ? at : last), 0n);
  const latencyMs = Number(end - start) / 1e6;
  return latencyMs >= 0 && latencyMs <= DAY_MS ? latencyMs : null;
}

/** Returns all inner retrievers as one stage: the members of an ensemble, or repeated calls. */
function readStages(
  span: OtlpSpan,
  inner: readonly OtlpSpan[],
  results: readonly RetrievedDocument[],
  options: ExtractionOptions,
): LiveStage[] {
  if (inner.length === 0 || documentsOf(span, options) === null) return [];
  const lists = inner.map((one) => documentsOf(one, options));
  const known = lists.flatMap((documents, place) =>
    documents === null ? [] : [identifyDocuments(documents, inner[place] ?? span).documents],
  );
  const stage = { name: RETRIEVAL, isSide: false, latencyMs: latencyOf(inner) };
  const ids = known.length < lists.length ? null : mergedByRank(known);
  const answered = results.map(({ id }) => id);
  return [liveStage(stage, ids, answered)];
}

function documentsOf(span: OtlpSpan, options: ExtractionOptions) {
  const tool = options.toolOf(span);
  return (tool === null ? null : tool.readDocuments(span)) ?? readRetrievedDocuments(span);
}

/**
 * Returns the episode of a retriever span, which is, in order of preference, its nearest agent, its nearest workflow,
 * its outermost chain, or its trace. The nearest chain is unsuitable, because frameworks report each step as a chain,
 * so the retrievals of one turn would be in different chains.
 *
 * If the export does not contain all ancestors up to the root, only an agent is certain to be the right span.
 * `completeQueries` corrects the episode when the missing ancestors arrive.
 */
function readEpisode(span: OtlpSpan, index: TraceIndex): QueryEpisode {
  const around = index.ancestorsOf(span);
  const nearest = (scope: EpisodeScope) => around.find((one) => episodeScope(one) === scope);
  const isWhole = isComplete(span, around);
  const chosen =
    nearest('agent') ??
    (isWhole ? (nearest('workflow') ?? around.findLast((one) => episodeScope(one) === 'chain')) : undefined);
  if (chosen === undefined) return { id: span.traceId, step: null, originalText: null };
  return { id: liveQueryId(span.traceId, chosen.spanId), step: null, originalText: readRequest(chosen) };
}

function isComplete(span: OtlpSpan, ancestors: readonly OtlpSpan[]): boolean {
  return (ancestors.at(-1) ?? span).parentSpanId === null;
}

/** Returns true for a span that may be the episode of a query in another export. */
function mayBeEpisode(span: OtlpSpan, index: TraceIndex): boolean {
  const scope = episodeScope(span);
  if (scope !== 'chain') return scope !== null;
  const ancestors = index.ancestorsOf(span);
  return isComplete(span, ancestors) && ancestors.every((one) => episodeScope(one) !== 'chain');
}

/** Merges lists of documents. Orders the documents by their best rank. */
function mergedByRank(lists: readonly (readonly RetrievedDocument[])[]): string[] {
  const ranked = lists.flatMap((list) => list.map(({ id }, rank) => ({ id, rank })));
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ id }) => id);
}

function readResults(span: OtlpSpan, inner: readonly OtlpSpan[], options: ExtractionOptions) {
  if (hasSeveralQueries(span)) return 'several_queries' as const;
  const fieldKeys = options.fieldKeysOf(options.pipelineOf(span) ?? '');
  const own = documentsOf(span, options);
  if (own !== null) return identifyAny(own, span, fieldKeys);
  const lists = inner.map((one) => ({ one, documents: documentsOf(one, options) }));
  const [only, ...others] = lists.filter(({ documents }) => documents !== null);
  if (only === undefined || only.documents === null || others.length > 0) return reasonOf(span, false);
  return identifyAny(only.documents, only.one, fieldKeys);
}

/** Returns a reason if no document can be identified, for example because all contents are hidden. */
function identifyAny(traced: readonly TracedDocument[], span: OtlpSpan, fieldKeys: readonly string[]) {
  const { documents, unidentified } = identifyDocuments(traced, span, fieldKeys);
  if (documents.length > 0 && unidentified === documents.length) return reasonOf(span, true);
  return { results: documents, context: contextSize(traced.map(({ content }) => content)) };
}

function isTruncated(span: OtlpSpan, index: TraceIndex): boolean {
  const role = index.roleOf(span);
  const isOurs = role !== 'other' && role !== 'none';
  return isOurs && (span.droppedAttributesCount > 0 || span.droppedEventsCount > 0);
}

/** Removes duplicates: services set the same session on every span of a trace. */
function peopleOf(fragments: readonly TraceFragment[]): readonly TraceFragment[] {
  const people = new Map<string, TraceFragment>();
  for (const fragment of fragments) {
    if (fragment.kind !== 'person') continue;
    const key = JSON.stringify([fragment.traceId, fragment.sessionId, fragment.userId]);
    if (!people.has(key)) people.set(key, fragment);
  }
  return [...people.values()];
}

/** Returns the embedding model from the attributes of OpenInference, OTel GenAI or Langfuse. */
function readEmbeddingModel(span: OtlpSpan): string | null {
  const names = ['embedding.model_name', 'gen_ai.request.model', 'langfuse.observation.model.name'];
  return readFirst(span.attributes, names, readShortText);
}

/**
 * Returns the data that a span can add to the live queries of its trace; empty for most spans.
 *
 * @param wantedTexts texts of the queries in this export. If an embedding span has many texts, only the wanted texts
 *   are read, because a service that indexes documents embeds thousands of texts.
 */
function readFragments(
  span: OtlpSpan,
  index: TraceIndex,
  options: ExtractionOptions,
  wantedTexts: ReadonlySet<string>,
): readonly TraceFragment[] {
  const around = index.retrieverAround(span);
  const parentId = around?.spanId ?? span.parentSpanId;
  const place = {
    traceId: span.traceId,
    spanId: span.spanId,
    endedAtUnixNano: span.endTimeUnixNano,
    pipeline: options.pipelineOf(span),
    within: parentId === null ? null : liveQueryId(span.traceId, parentId),
  };
  switch (index.roleOf(span)) {
    case 'embedding': {
      const model = readEmbeddingModel(span);
      return readEmbeddings(span, wantedTexts).map((one) => ({ kind: 'embedding', ...place, ...one, model }));
    }
    case 'reranker': {
      const { documents, unidentified } = identifyDocuments(readRerankedDocuments(span) ?? [], span);
      // An order that contains unknown documents cannot be applied to a query.
      const results = unidentified > 0 ? [] : documents;
      const latencyMs = latencyOf([span]);
      if (results.length === 0 && latencyMs === null) return [];
      const text = readText(span.attributes['reranker.query']);
      return [
        { kind: 'rerank', ...place, text, topK: readCount(span.attributes['reranker.top_k']), latencyMs, results },
      ];
    }
    case 'retriever': {
      const vector = around === span ? null : readQueryVector(span);
      return vector === null ? [] : [{ kind: 'embedding', ...place, text: null, vector, model: null }];
    }
    case 'evaluator':
      return [];
    case 'other':
    case 'none': {
      const person = readPerson([span.attributes]);
      const isKnown = person.sessionId !== null || person.userId !== null;
      const scope = mayBeEpisode(span, index) ? episodeScope(span) : null;
      const startedAtUnixNano = span.startTimeUnixNano;
      return [
        ...(isKnown ? [{ kind: 'person' as const, ...place, ...person }] : []),
        ...(scope === null
          ? []
          : [{ kind: 'episode' as const, ...place, scope, startedAtUnixNano, text: readRequest(span) }]),
      ];
    }
  }
}

/** Reads `embedding.embeddings.N.embedding.{text,vector}`, or a single vector with the input of the span. */
function readEmbeddings(span: OtlpSpan, wantedTexts: ReadonlySet<string>) {
  const listed = readFlattened(span.attributes, 'embedding.embeddings') ?? [];
  const input = readQueryText(span, false);
  const candidates =
    listed.length > 0
      ? listed.map((item) => ({ text: readText(item['embedding.text']), value: item['embedding.vector'] }))
      : [{ text: input, value: span.attributes['embedding.vector'] }];
  return candidates.flatMap(({ text, value }) => {
    const isOnly = candidates.length === 1;
    if (!isOnly && (text === null || !wantedTexts.has(text))) return [];
    const vector = readVector(value);
    return vector === null ? [] : [{ text: text ?? (isOnly ? input : null), vector }];
  });
}
