/** What was asked of a retriever: the text, its vector and how many documents. */
import {
  isObject,
  readCount,
  readFirst,
  readFlattened,
  readObject,
  readStructure,
  readText,
  readVector,
} from './attribute.ts';
import type { AttributeValue, OtlpSpan } from './span.ts';

/** Their values are the query itself, or JSON with the query in it. */
const inputs = [
  'gen_ai.retrieval.query.text',
  'input.value',
  'langfuse.observation.input',
  'gen_ai.task.input',
  'traceloop.entity.input',
  'db.marqo.search.query',
];

/** Names of the query in a JSON input; `query_str` and `str_or_query_bundle` are LlamaIndex. */
const queryNames = [
  'query',
  'query_str',
  'str_or_query_bundle',
  'query_text',
  'question',
  'search_query',
  'input',
  'text',
];

/**
 * The text of the query, from the first of `gen_ai.retrieval.query.text`, `input.value`, `langfuse.observation.input`
 * and OpenLLMetry's inputs that has one. Null when none has, or when privacy settings hide it.
 */
export function readQueryText(span: OtlpSpan): string | null {
  return readFirst(span.attributes, inputs, readInputText);
}

/**
 * An object without a query by a usual name is not the query, and its JSON would not be either. A JSON number or
 * string is the query as it stands: people search for years, and for phrases in quotes.
 */
function readInputText(value: AttributeValue | undefined): string | null {
  const input = readStructure(value);
  if (input === null) return readText(value);
  if (!isObject(input)) return input.length === 1 ? readText(input[0]) : null;
  return readFirst(input, queryNames, (inner) =>
    isObject(inner) ? readFirst(inner, queryNames, readText) : readText(inner),
  );
}

/** `gen_ai.request.top_k` is what OTel GenAI called it before; the rest is OpenLLMetry. */
const topKNames = [
  'gen_ai.retrieval.top_k',
  'gen_ai.request.top_k',
  'db.vector.query.top_k',
  'pinecone.query.top_k',
  'db.chroma.query.n_results',
  'db.milvus.search.limit',
];

/** How many documents were asked for; null when the span does not tell. */
export function readTopK(span: OtlpSpan): number | null {
  const input = readFirst(span.attributes, ['input.value', 'langfuse.observation.input'], readObject);
  return (
    readFirst(span.attributes, topKNames, readCount) ??
    readFirst(input ?? {}, ['top_k', 'k', 'limit'], readCount)
  );
}

const vectorNames = ['embedding.vector', 'db.vector.query.embeddings.vector'];
const vectorEventNames = ['db.query.embeddings.vector', 'db.search.embeddings.vector'];

/** The vector of the query, when the retriever's own span or one of its events holds it. */
export function readQueryVector(span: OtlpSpan): Float32Array | null {
  const own = readFirst(span.attributes, vectorNames, readVector);
  if (own !== null) return own;
  for (const { attributes } of span.events) {
    const vector = readFirst(attributes, vectorEventNames, readVector);
    if (vector !== null) return vector;
  }
  const embedded = readFlattened(span.attributes, 'embedding.embeddings') ?? [];
  return embedded.length === 1 ? readVector(embedded[0]?.['embedding.vector']) : null;
}
