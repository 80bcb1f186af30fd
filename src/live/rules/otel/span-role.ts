/** What a span is to us, by the conventions that its instrumentation follows. */
import { readFirst, readString } from './attribute.ts';
import type { OtlpSpan } from './span.ts';

/** `other`: a convention says what it is, and it is none of ours. `none`: no convention says anything. */
export type SpanRole = 'retriever' | 'embedding' | 'reranker' | 'evaluator' | 'other' | 'none';

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
]);

const langfuseTypes = new Map<string, SpanRole>([
  ['retriever', 'retriever'],
  ['embedding', 'embedding'],
  ['evaluator', 'evaluator'],
]);

/** Events of OpenLLMetry on the span of a vector store's query; `search` is Milvus. */
const queryEvents = new Set([
  'db.query.embeddings',
  'db.query.result',
  'db.search.embeddings',
  'db.search.result',
]);

const vectorStores = new Set(['chroma', 'lancedb', 'marqo', 'milvus', 'pinecone', 'qdrant', 'weaviate']);
const queryOperations = new Set(['hybrid_search', 'query', 'search']);

/**
 * The role of a span. OpenInference's `openinference.span.kind` is believed first, because its SDKs also translate
 * the spans of others; then OTel GenAI's `gen_ai.operation.name`, then Langfuse's `langfuse.observation.type`, then
 * the vector store spans of OpenLLMetry, which are a retriever when nothing above them is.
 */
export function roleOf(span: OtlpSpan): SpanRole {
  const { attributes } = span;
  const kind = readString(attributes['openinference.span.kind'])?.toUpperCase() ?? 'UNKNOWN';
  if (kind !== 'UNKNOWN') return openInferenceKinds.get(kind) ?? 'other';
  const operation = readString(attributes['gen_ai.operation.name']);
  const type = readString(attributes['langfuse.observation.type']);
  const role = genAiOperations.get(operation ?? '') ?? langfuseTypes.get(type ?? '');
  if (role !== undefined) return role;
  if (isVectorStoreQuery(span)) return 'retriever';
  return operation === null && type === null ? 'none' : 'other';
}

function isVectorStoreQuery(span: OtlpSpan): boolean {
  if (span.events.some((event) => queryEvents.has(event.name))) return true;
  if (Object.keys(span.attributes).some((name) => name.startsWith('db.vector.query.'))) return true;
  const store = readFirst(span.attributes, ['db.system', 'db.system.name'], readString)?.toLowerCase();
  if (store === undefined || !vectorStores.has(store)) return false;
  const operation = readFirst(span.attributes, ['db.operation', 'db.operation.name'], readString);
  return queryOperations.has(operation ?? '');
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
