/** What a retriever or reranker span tells of its query and documents, wherever its instrumentation put them. */
import type { RetrievedDocument } from '../../../model.ts';
import { contentId } from '../../../text/content-id.ts';
import {
  type Attributes,
  type AttributeValue,
  isObject,
  type OtlpSpan,
  readArray,
  readCount,
  readFirst,
  readFlattened,
  readId,
  readNumber,
  readObject,
  readString,
  readStructure,
  readText,
  readVector,
  type Telemetry,
} from './span.ts';

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
  return readFirst(span.attributes, topKNames, readCount) ?? readFirst(input ?? {}, ['top_k', 'k', 'limit'], readCount);
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

/** A document as it was traced: each of its parts may be missing. */
export interface TracedDocument {
  readonly id: string | null;
  readonly score: number | null;
  readonly content: string | null;
  readonly metadata: Attributes | null;
}

/** How a document without an id is given one. */
export interface DocumentIdentity {
  /** Keys of its metadata that hold an id, best first. */
  readonly documentIdKeys: readonly string[];
}

/** The most results that a live query holds. */
const MAX_DOCUMENTS = 1000;

type Documents = readonly TracedDocument[] | null;

/**
 * The documents of a retriever span, best first, from the first of these that the span has:
 *
 * 1. `gen_ai.retrieval.documents`, structured or JSON text (OTel GenAI);
 * 2. `retrieval.documents.N.document.*` (OpenInference);
 * 3. the output as JSON: `output.value` (OpenInference), `langfuse.observation.output`, `gen_ai.task.output` and
 *    `traceloop.entity.output` (OpenLLMetry), an array or an object with one under a usual name;
 * 4. events `db.query.result` and `db.search.result`, then `db.vector.query.result.N.*` (OpenLLMetry);
 * 5. none, when a count of results says 0.
 *
 * An id that the first of them lacks is taken from the others at the same rank, when they are as long: LangChain's
 * ids are in the output alone. When attributes or events were dropped, the longest list wins instead of the first.
 *
 * @returns null when the span does not tell what was retrieved, which is not the same as an empty list.
 */
export function readRetrievedDocuments(span: OtlpSpan): Documents {
  const { attributes } = span;
  const lists = [
    readList(attributes['gen_ai.retrieval.documents']),
    readDocumentList(attributes, 'retrieval.documents'),
    ...outputs.map((name) => readOutput(attributes[name])),
    readResultEvents(span),
    readFlattened(attributes, 'db.vector.query.result')?.map(toDocument) ?? null,
  ].filter((list) => list !== null);
  const [first] = lists;
  if (first === undefined) return resultCounts.some((name) => readNumber(attributes[name]) === 0) ? [] : null;
  const isTruncated = span.droppedAttributesCount > 0 || span.droppedEventsCount > 0;
  const chosen = isTruncated ? lists.reduce((longest, list) => (list.length > longest.length ? list : longest)) : first;
  const others = lists.filter((list) => list !== chosen && list.length === chosen.length);
  return chosen
    .slice(0, MAX_DOCUMENTS)
    .map((document, rank) => others.reduce((known, list) => complete(known, list[rank]), document));
}

/** The documents that a reranker put out, best first (OpenInference); null when its span does not tell. */
export function readRerankedDocuments(span: OtlpSpan): Documents {
  const { attributes } = span;
  const documents = readDocumentList(attributes, 'reranker.output_documents') ?? readOutput(attributes['output.value']);
  return documents?.slice(0, MAX_DOCUMENTS) ?? null;
}

/**
 * Documents by id, in their order. The id is the document's own, else that of its metadata, else that of its content
 * (`contentId`). A document with none of these cannot be told from others and is left out.
 */
export function identifyDocuments(
  documents: readonly TracedDocument[],
  identity: DocumentIdentity,
): readonly RetrievedDocument[] {
  return documents.flatMap(({ id, score, content, metadata }) => {
    const known = id ?? readFirst(metadata ?? {}, identity.documentIdKeys, readId);
    const found = known ?? (content === null ? null : contentId(content));
    return found === null ? [] : [{ id: found, score }];
  });
}

const outputs = ['output.value', 'langfuse.observation.output', 'gen_ai.task.output', 'traceloop.entity.output'];

/** Where the list is when the output is an object; `source_nodes` is LlamaIndex. */
const listNames = ['documents', 'results', 'matches', 'hits', 'nodes', 'source_nodes'];

const resultCounts = ['db.vector.query.result_count', 'db.vector.query.result.matches_length'];

function readOutput(value: AttributeValue | undefined): Documents {
  const output = readStructure(value);
  if (output === null) return null;
  return isObject(output) ? readFirst(output, listNames, readList) : readList(output);
}

/** `prefix.N.*`, or all of them as one list under the prefix. */
function readDocumentList(attributes: Attributes, prefix: string): Documents {
  return readFlattened(attributes, prefix)?.map(toDocument) ?? readList(attributes[prefix]);
}

function readList(value: AttributeValue | undefined): Documents {
  return readArray(value)?.map(toDocument) ?? null;
}

/**
 * One event per result. Several queries in one Milvus span are numbered; only the first is read. A distance is no
 * score: whether less or more of it is better depends on the store's metric, which the span does not say.
 */
function readResultEvents(span: OtlpSpan): Documents {
  const found = span.events.filter(({ name, attributes }) => {
    if (name === 'db.search.result') return (readNumber(attributes['db.search.query.id']) ?? 0) === 0;
    return name === 'db.query.result';
  });
  return found.length === 0 ? null : found.map((event) => toDocument(event.attributes));
}

const idNames = [
  'document.id',
  'id',
  'db.query.result.id',
  'db.search.result.id',
  '_id',
  'id_',
  'node_id',
  'doc_id',
  'document_id',
];
const scoreNames = ['document.score', 'score', 'db.query.result.score', 'db.search.result.score', '_score'];
const contentNames = [
  'document.content',
  'content',
  'pageContent',
  'page_content',
  'text',
  'db.query.result.document',
  'document',
];
const metadataNames = ['document.metadata', 'metadata', 'db.query.result.metadata', 'meta', 'payload'];

/** Where the document is when the result only wraps it: LlamaIndex' nodes with scores, LangChain's serialised form. */
const wrapperNames = ['node', 'kwargs', 'document'];

function toDocument(value: AttributeValue | undefined): TracedDocument {
  if (!isObject(value)) return { id: null, score: null, content: readString(value), metadata: null };
  const inner = readFirst(value, wrapperNames, (wrapped) => (isObject(wrapped) ? wrapped : null)) ?? {};
  const read = <T>(names: readonly string[], reader: (value: AttributeValue | undefined) => T | null) =>
    readFirst(value, names, reader) ?? readFirst(inner, names, reader);
  return {
    id: read(idNames, readId),
    score: read(scoreNames, readNumber),
    content: read(contentNames, readString),
    metadata: read(metadataNames, readObject),
  };
}

/** Adds what another list knows of the document at the same rank, unless the contents show that it is not the same. */
function complete(known: TracedDocument, other: TracedDocument | undefined): TracedDocument {
  if (other === undefined) return known;
  if (known.content !== null && other.content !== null && known.content !== other.content) return known;
  return {
    id: known.id ?? other.id,
    score: known.score ?? other.score,
    content: known.content ?? other.content,
    metadata: known.metadata ?? other.metadata,
  };
}

/** What the caller has to say for spans and log records to become live queries and feedback. */
export interface ExtractionOptions extends DocumentIdentity {
  /** The pipeline of a span or log record; null when it belongs to none, and is then no retriever of ours. */
  pipelineOf(telemetry: Telemetry): string | null;
  /** The segment keys of a pipeline. */
  segmentKeysOf(pipeline: string): readonly string[];
}
