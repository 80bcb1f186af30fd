/** The spans of one export by id, with their roles: who is whose ancestor, as far as the ancestors came along. */

import { liveQueryId, type OtlpSpan, readFirst, readString } from './span.ts';

/** `other`: a convention says what it is, and it is none of ours. `none`: no convention says anything. */
type SpanRole = 'retriever' | 'embedding' | 'reranker' | 'evaluator' | 'other' | 'none';

const openInferenceKinds = new Map<string, SpanRole>([
  ['RETRIEVER', 'retriever'],
  ['EMBEDDING', 'embedding'],
  ['RERANKER', 'reranker'],
  ['EVALUATOR', 'evaluator'],
]);

/** `vector_db_retrieve` is what OpenLLMetry's LangChain instrumentation writes. */
const genAiOperations = new Map<string, SpanRole>([
  ['retrieval', 'retriever'],
  ['vector_db_retrieve', 'retriever'],
  ['embeddings', 'embedding'],
  // Of no convention yet; the AI SDK writes it, among others.
  ['rerank', 'reranker'],
]);

const langfuseTypes = new Map<string, SpanRole>([
  ['retriever', 'retriever'],
  ['embedding', 'embedding'],
  ['evaluator', 'evaluator'],
]);

/** MLflow writes its own attributes as JSON. */
const mlflowTypes = new Map<string, SpanRole>([
  ['RETRIEVER', 'retriever'],
  ['EMBEDDING', 'embedding'],
  ['RERANKER', 'reranker'],
]);

/** LangSmith's exporter calls retrievers `embeddings` by `gen_ai.operation.name`, and tells its own kind beside that. */
const langSmithKinds = new Map<string, SpanRole>([
  ['retriever', 'retriever'],
  ['embedding', 'embedding'],
]);

/** Events of OpenLLMetry on the span of a vector store's query; `search` is Milvus. */
const queryEvents = new Set(['db.query.embeddings', 'db.query.result', 'db.search.embeddings', 'db.search.result']);

const vectorStores = new Set(['chroma', 'lancedb', 'marqo', 'milvus', 'pinecone', 'qdrant', 'weaviate']);
const queryOperations = new Set(['hybrid_search', 'query', 'search']);

/**
 * The role of a span. OpenInference's `openinference.span.kind` is believed first, because its SDKs also translate
 * the spans of others; then LangSmith's `langsmith.span.kind`, then OTel GenAI's `gen_ai.operation.name`, then Langfuse's
 * `langfuse.observation.type`, then MLflow's `mlflow.spanType`, then the vector store spans of OpenLLMetry, which are a retriever when nothing above them
 * is, and the retrievers of Langfuse's handler for LangChain.js, which calls them spans.
 */
function roleOf(span: OtlpSpan): SpanRole {
  const { attributes } = span;
  const kind = readString(attributes['openinference.span.kind'])?.toUpperCase() ?? 'UNKNOWN';
  if (kind !== 'UNKNOWN') return openInferenceKinds.get(kind) ?? 'other';
  const langSmithKind = readString(attributes['langsmith.span.kind'])?.toLowerCase() ?? null;
  if (langSmithKind !== null) return langSmithKinds.get(langSmithKind) ?? 'other';
  const operation = readString(attributes['gen_ai.operation.name']);
  const type = readString(attributes['langfuse.observation.type']);
  const mlflowType = readString(attributes['mlflow.spanType'])?.replaceAll('"', '') ?? null;
  const role =
    genAiOperations.get(operation ?? '') ??
    langfuseTypes.get(type ?? '') ??
    mlflowTypes.get(mlflowType?.toUpperCase() ?? '');
  if (role !== undefined) return role;
  if (isVectorStoreQuery(span) || (type === 'span' && hasLangChainDocuments(span))) return 'retriever';
  return operation === null && type === null && mlflowType === null ? 'none' : 'other';
}

function isVectorStoreQuery(span: OtlpSpan): boolean {
  if (span.events.some((event) => queryEvents.has(event.name))) return true;
  if (Object.keys(span.attributes).some((name) => name.startsWith('db.vector.query.'))) return true;
  const store = readFirst(span.attributes, ['db.system', 'db.system.name'], readString)?.toLowerCase();
  if (store === undefined || !vectorStores.has(store)) return false;
  const operation = readFirst(span.attributes, ['db.operation', 'db.operation.name'], readString);
  return queryOperations.has(operation ?? '');
}

/** A list of LangChain's documents, or nothing retrieved by what LangChain says is a retriever. */
function hasLangChainDocuments({ attributes }: OtlpSpan): boolean {
  const output = readString(attributes['langfuse.observation.output']);
  if (output === null) return false;
  if (/^\s*\[\s*\]\s*$/.test(output))
    return readString(attributes['langfuse.observation.metadata.ls_retriever_name']) !== null;
  return /^\s*\[\s*\{/.test(output) && /"(pageContent|page_content)"\s*:/.test(output);
}

const queryCounts = [
  'db.vector.query.embeddings_count',
  'db.chroma.query.query_embeddings_count',
  'db.chroma.query.embeddings_count',
  'db.chroma.query.query_texts_count',
];

/** Whether a vector store span holds the results of several queries, which nobody can tell apart again. */
export function hasSeveralQueries(span: OtlpSpan): boolean {
  return queryCounts.some((name) => Number(span.attributes[name]) > 1);
}

/** How error types are named: `TimeoutError`, `java.net.UnknownHostException`, `502`, `server_certificate_invalid`. */
const typeName = /^[\w.:$-]{1,100}$/;

/** The class in front of what most languages print of an exception. */
const leadingClass = /^\s*([A-Za-z_$][\w.$]{0,90}(?:Error|Exception|Failure|Timeout))(?::|\s*$)/;

/** Longer messages are not searched for a stack. */
const MAX_MESSAGE = 20_000;

/**
 * What went wrong in a span, as a class of errors: messages of errors quote the query, so they are never read out.
 *
 * Null when the span succeeded. Else the first of `error.type`, the `exception.type` of an exception event, and the
 * class of the exception that the status message, the exception message or Langfuse's status message is printed from;
 * `error` when none of them tells a class.
 *
 * A span failed when its status says so, when it has an `error.type`, or when Langfuse's level is ERROR.
 */
export function errorOf(span: OtlpSpan): string | null {
  const { attributes, status } = span;
  const type = readString(attributes['error.type']);
  const isError = status.code === 'error' || attributes['langfuse.observation.level'] === 'ERROR';
  if (type === null && !isError) return null;
  const exception = span.events.findLast((event) => event.name === 'exception')?.attributes ?? {};
  const types = [type, readString(exception['exception.type'])];
  const messages = [status.message, exception['exception.message'], attributes['langfuse.observation.status_message']];
  return (
    types.find((name) => name !== null && typeName.test(name)) ??
    messages.map((message) => classOf(readString(message))).find((name) => name !== null) ??
    'error'
  );
}

function classOf(message: string | null): string | null {
  if (message === null) return null;
  return leadingClass.exec(message)?.[1] ?? classOfStack(message.slice(0, MAX_MESSAGE));
}

/**
 * LangChain prints the message, an empty line, and the stack, which begins with the class and the same message. The
 * class is taken only from there, so that an exception which a user pasted into the query is not.
 */
function classOfStack(text: string): string | null {
  for (const match of text.matchAll(/\n\n([A-Za-z_$][\w.$]{0,90}): /g)) {
    const [opening, name] = match;
    const message = text.slice(0, match.index);
    if (name !== undefined && text.startsWith(message, match.index + opening.length)) return name;
  }
  return null;
}

/** Deeper nesting is no trace but a loop. */
const MAX_ANCESTORS = 200;

export type TraceIndex = ReturnType<typeof indexSpans>;

/**
 * Indexes the spans of one export.
 *
 * @param isWatched whether a retriever span belongs to a pipeline; one that does not is as if it were no retriever
 */
export function indexSpans(spans: readonly OtlpSpan[], isWatched: (span: OtlpSpan) => boolean) {
  const byId = new Map(spans.map((span) => [liveQueryId(span.traceId, span.spanId), span]));
  const roles = new Map<OtlpSpan, SpanRole>();
  const unwatched = new Set<OtlpSpan>();
  for (const span of byId.values()) {
    const role = roleOf(span);
    if (role === 'retriever' && !isWatched(span)) unwatched.add(span);
    roles.set(span, unwatched.has(span) ? 'other' : role);
  }

  const find = (traceId: string, spanId: string) => byId.get(liveQueryId(traceId, spanId)) ?? null;
  const parentOf = (span: OtlpSpan) => (span.parentSpanId === null ? null : find(span.traceId, span.parentSpanId));

  function ancestorsOf(span: OtlpSpan): readonly OtlpSpan[] {
    const ancestors: OtlpSpan[] = [];
    for (let parent = parentOf(span); parent !== null; parent = parentOf(parent)) {
      // Of spans in a circle none is around the others: each would hide itself.
      if (ancestors.length === MAX_ANCESTORS) return [];
      ancestors.push(parent);
    }
    return ancestors;
  }

  const roleOfIndexed = (span: OtlpSpan) => roles.get(span) ?? 'none';
  const isRetriever = (span: OtlpSpan) => roleOfIndexed(span) === 'retriever';
  const around = new Map(
    [...byId.values()].map((span) => [span, [span, ...ancestorsOf(span)].findLast(isRetriever) ?? null]),
  );
  return {
    /** Each span once; of a span that was sent twice the later one. */
    spans: [...byId.values()],
    /** `other` for a retriever of no pipeline. */
    roleOf: roleOfIndexed,
    /** Whether the span is a retriever of no pipeline. */
    isUnwatched: (span: OtlpSpan): boolean => unwatched.has(span),
    find,
    /** Nearest first, ending where an ancestor is not part of the export; none of a span whose ancestors form a circle. */
    ancestorsOf,
    /** The retriever furthest up that the span is, or lies within; null when there is none. */
    retrieverAround: (span: OtlpSpan): OtlpSpan | null => around.get(span) ?? null,
  };
}
