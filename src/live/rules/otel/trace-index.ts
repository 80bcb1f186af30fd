/** Indexes the spans of one export by id, with their roles and ancestors. */

import { liveQueryId, type OtlpSpan, readFirst, readString } from './span.ts';

/**
 * `other`: the span follows a known convention, but has a role that recalld does not use. `none`: no known convention.
 */
type SpanRole = 'retriever' | 'embedding' | 'reranker' | 'evaluator' | 'other' | 'none';

/** Roles for a convention whose kinds have the same names as the roles. */
const rolesOf = (...roles: SpanRole[]): ReadonlyMap<string, SpanRole> => new Map(roles.map((role) => [role, role]));

const openInferenceKinds = rolesOf('retriever', 'embedding', 'reranker', 'evaluator');
const langfuseTypes = rolesOf('retriever', 'embedding', 'evaluator');
/** Span roles, keyed by `mlflow.spanType`, whose values MLflow writes as JSON strings, in quotes. */
const mlflowTypes = rolesOf('retriever', 'embedding', 'reranker');
/**
 * LangSmith's exporter sets `gen_ai.operation.name` of retrievers to `embeddings`, so `langsmith.span.kind` takes
 * precedence.
 */
const langSmithKinds = rolesOf('retriever', 'embedding');

/** `vector_db_retrieve` is from OpenLLMetry's LangChain instrumentation. */
const genAiOperations = new Map<string, SpanRole>([
  ['retrieval', 'retriever'],
  ['vector_db_retrieve', 'retriever'],
  ['search_memory', 'retriever'],
  ['embeddings', 'embedding'],
  // The operation name `rerank` is not standardized yet, but the AI SDK and others use it.
  ['rerank', 'reranker'],
]);

/** Kind of a span that contains the retrievals of one turn: an agent, a workflow, or any step of a framework. */
export type EpisodeScope = 'agent' | 'workflow' | 'chain';

/**
 * Attributes whose values determine the scope of an episode, in order of precedence. `ai.operationId` is from the AI
 * SDK, in which a single call can run tools repeatedly, as an agent does.
 */
const scopes: readonly (readonly [attribute: string, scopes: Readonly<Record<string, EpisodeScope>>])[] = [
  ['openinference.span.kind', { agent: 'agent', chain: 'chain' }],
  ['langsmith.span.kind', { chain: 'chain' }],
  ['gen_ai.operation.name', { invoke_agent: 'agent', invoke_workflow: 'workflow' }],
  ['langfuse.observation.type', { agent: 'agent', chain: 'chain' }],
  ['mlflow.spanType', { agent: 'agent', workflow: 'workflow', chain: 'chain' }],
  ['traceloop.span.kind', { agent: 'agent', workflow: 'workflow' }],
  ['ai.operationId', { 'ai.generatetext': 'agent', 'ai.streamtext': 'agent' }],
];

/** Returns null for a span that is not an agent, a workflow or a chain. */
export function episodeScope({ attributes }: OtlpSpan): EpisodeScope | null {
  for (const [attribute, own] of scopes) {
    const kind = readString(attributes[attribute])?.replaceAll('"', '').toLowerCase();
    if (kind !== undefined && kind !== 'unknown' && Object.hasOwn(own, kind)) return own[kind] ?? null;
  }
  return null;
}

/** Events that OpenLLMetry adds to a span that queries a vector store; the names with `search` are used for Milvus. */
const queryEvents = new Set(['db.query.embeddings', 'db.query.result', 'db.search.embeddings', 'db.search.result']);

const vectorStores = new Set(['chroma', 'lancedb', 'marqo', 'milvus', 'pinecone', 'qdrant', 'weaviate']);
const queryOperations = new Set(['hybrid_search', 'query', 'search']);

/**
 * Determines the role of a span from the first of the following that shows a role: OpenInference's
 * `openinference.span.kind` (OpenInference SDKs also translate spans of other conventions), LangSmith's
 * `langsmith.span.kind`, OTel GenAI's `gen_ai.operation.name`, Langfuse's `langfuse.observation.type`, MLflow's
 * `mlflow.spanType`, OpenLLMetry's vector store spans, retrievers of type `span` from Langfuse's LangChain.js handler,
 * and LlamaIndex retrievers traced by OpenLLMetry, which sets no type for them.
 */
function roleOf(span: OtlpSpan): SpanRole {
  const { attributes } = span;
  const kind = readString(attributes['openinference.span.kind'])?.toLowerCase() ?? 'unknown';
  if (kind !== 'unknown') return openInferenceKinds.get(kind) ?? 'other';
  const langSmithKind = readString(attributes['langsmith.span.kind'])?.toLowerCase() ?? null;
  if (langSmithKind !== null) return langSmithKinds.get(langSmithKind) ?? 'other';
  const operation = readString(attributes['gen_ai.operation.name']);
  const type = readString(attributes['langfuse.observation.type']);
  const mlflowType = readString(attributes['mlflow.spanType'])?.replaceAll('"', '') ?? null;
  const role =
    genAiOperations.get(operation ?? '') ??
    langfuseTypes.get(type ?? '') ??
    mlflowTypes.get(mlflowType?.toLowerCase() ?? '');
  if (role !== undefined) return role;
  if (isVectorStoreQuery(span) || (type === 'span' && hasLangChainDocuments(span))) return 'retriever';
  if (operation === null && isLlamaIndexRetriever(span)) return 'retriever';
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

/** True for a list of LangChain documents, or for an empty list from a LangChain retriever. */
function hasLangChainDocuments({ attributes }: OtlpSpan): boolean {
  const output = readString(attributes['langfuse.observation.output']);
  if (output === null) return false;
  if (/^\s*\[\s*\]\s*$/.test(output))
    return readString(attributes['langfuse.observation.metadata.ls_retriever_name']) !== null;
  return /^\s*\[\s*\{/.test(output) && /"(pageContent|page_content)"\s*:/.test(output);
}

/**
 * OpenLLMetry names each LlamaIndex span after its class and has no kind for retrievers. A class counts as a retriever,
 * whatever its name, if it returns nodes for a query. Postprocessors do not count, because they take nodes instead of a
 * query. In JavaScript, only the span name contains the class and the method.
 */
function isLlamaIndexRetriever({ attributes, name: spanName }: OtlpSpan): boolean {
  const name = readString(attributes['traceloop.entity.name']);
  if (name === null) return attributes['traceloop.span.kind'] === 'task' && spanName.endsWith('.retrieve');
  if (/Retriever\.(task|workflow)$/.test(name)) return true;
  const input = readString(attributes['traceloop.entity.input']) ?? '';
  const output = readString(attributes['traceloop.entity.output']) ?? '';
  return /^\s*\{\s*"(str_or_)?query_bundle"\s*:/.test(input) && /^\s*\[\s*"\{\\"node\\"/.test(output);
}

const queryCounts = [
  'db.vector.query.embeddings_count',
  'db.chroma.query.query_embeddings_count',
  'db.chroma.query.embeddings_count',
  'db.chroma.query.query_texts_count',
];

/** True if a vector store span contains the results of several queries, which cannot be separated. */
export function hasSeveralQueries(span: OtlpSpan): boolean {
  return queryCounts.some((name) => Number(span.attributes[name]) > 1);
}

/**
 * Matches error types such as `TimeoutError`, `java.net.UnknownHostException`, `502` and `server_certificate_invalid`.
 */
const typeName = /^[\w.:$-]{1,100}$/;

/** Matches the class at the start of a printed exception, as most languages print it. */
const leadingClass = /^\s*([A-Za-z_$][\w.$]{0,90}(?:Error|Exception|Failure|Timeout))(?::|\s*$)/;

/** Matches a Python exception as printed by `repr`, followed by its traceback, from the LangSmith exporter. */
const printedClass = /^([A-Za-z_]\w{0,90})\(.*\)Traceback \(most recent call last\):/s;

/**
 * Base classes of exceptions. A base class does not identify the error: the LangSmith exporter gives every exception
 * the type `Exception`.
 */
const baseClasses: ReadonlySet<string> = new Set(['Exception', 'Error']);

/** Maximum length of a message that is searched for a stack. */
const MAX_MESSAGE = 20_000;

/**
 * Returns the error class of a span; null if the span succeeded. Does not return error messages, because they may quote
 * the query.
 *
 * The class is the first of `error.type`, `exception.type` of an exception event, and the exception class in the status
 * message, exception message or Langfuse status message; `error` if none of these contains a class. A base class is
 * returned only if there is no other class.
 *
 * A span failed if its status is an error, it has an `error.type`, or its Langfuse level is ERROR.
 */
export function errorOf(span: OtlpSpan): string | null {
  const { attributes, status } = span;
  const type = readString(attributes['error.type']);
  const isError = status.code === 'error' || attributes['langfuse.observation.level'] === 'ERROR';
  if (type === null && !isError) return null;
  const exception = span.events.findLast((event) => event.name === 'exception')?.attributes ?? {};
  const types = [type, readString(exception['exception.type'])];
  const messages = [status.message, exception['exception.message'], attributes['langfuse.observation.status_message']];
  const named = types.filter((name) => name !== null && typeName.test(name)) as string[];
  return (
    named.find((name) => !baseClasses.has(name)) ??
    messages.map((message) => classOf(readString(message))).find((name) => name !== null) ??
    named[0] ??
    'error'
  );
}

function classOf(message: string | null): string | null {
  if (message === null) return null;
  const start = message.slice(0, MAX_MESSAGE);
  return leadingClass.exec(message)?.[1] ?? printedClass.exec(start)?.[1] ?? classOfStack(start);
}

/**
 * LangChain prints the message, an empty line, and the stack, which starts with the class and the same message.
 * Requiring the same message avoids matching an exception that a user pasted into the query.
 */
function classOfStack(text: string): string | null {
  for (const match of text.matchAll(/\n\n([A-Za-z_$][\w.$]{0,90}): /g)) {
    const [opening, name] = match;
    const message = text.slice(0, match.index);
    if (name !== undefined && text.startsWith(message, match.index + opening.length)) return name;
  }
  return null;
}

/** Maximum number of ancestors of a span; deeper nesting is treated as a cycle. */
const MAX_ANCESTORS = 200;

export type TraceIndex = ReturnType<typeof indexSpans>;

/**
 * Indexes the spans of one export. If a span occurs several times, only the last one is kept.
 *
 * @param isWatched returns false for a retriever span that must be ignored
 * @param isTool returns true for a call to a tool that the config declares as a retriever
 */
export function indexSpans(
  spans: readonly OtlpSpan[],
  isWatched: (span: OtlpSpan) => boolean,
  isTool: (span: OtlpSpan) => boolean,
) {
  const byId = new Map(spans.map((span) => [liveQueryId(span.traceId, span.spanId), span]));
  const roles = new Map<OtlpSpan, SpanRole>();
  const unwatched = new Set<OtlpSpan>();
  for (const span of byId.values()) {
    const own = roleOf(span);
    const role = (own === 'other' || own === 'none') && isTool(span) ? 'retriever' : own;
    if (role === 'retriever' && !isWatched(span)) unwatched.add(span);
    roles.set(span, unwatched.has(span) ? 'other' : role);
  }

  const find = (traceId: string, spanId: string) => byId.get(liveQueryId(traceId, spanId)) ?? null;
  const parentOf = (span: OtlpSpan) => (span.parentSpanId === null ? null : find(span.traceId, span.parentSpanId));

  function ancestorsOf(span: OtlpSpan): readonly OtlpSpan[] {
    const ancestors: OtlpSpan[] = [];
    for (let parent = parentOf(span); parent !== null; parent = parentOf(parent)) {
      // A span in a cycle is treated as if it had no ancestors, because otherwise each retriever would lie within
      // another, and none would be the outermost.
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
    spans: [...byId.values()],
    /** Role of the span; `other` for a retriever without a pipeline. */
    roleOf: roleOfIndexed,
    isUnwatched: (span: OtlpSpan): boolean => unwatched.has(span),
    find,
    /** Ancestors, nearest first, up to the first ancestor that is not in the export; empty for a span in a cycle. */
    ancestorsOf,
    /** Returns the outermost retriever that is or contains the span; null if there is none. */
    retrieverAround: (span: OtlpSpan): OtlpSpan | null => around.get(span) ?? null,
  };
}
