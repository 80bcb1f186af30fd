/** Reads the documents of a retriever or reranker span in the formats of the known instrumentation libraries. */
import type { RetrievedDocument } from '../../../core/model.ts';
import { contentId, placeholderId } from '../../../core/text/content-id.ts';
import {
  MAX_DOCUMENTS,
  noDocument,
  readDocuments,
  readQuotedTexts,
  type TracedDocument,
  toDocument,
} from './document-shapes.ts';
import { type Attributes, type OtlpSpan, readFlattenedList, readId, readNumber, type Telemetry } from './span.ts';

/** Keys in a document or its metadata that contain the document id, in order of preference. */
const documentIdKeys = [
  'chunk_id',
  'chunkId',
  'x-amz-bedrock-kb-chunk-id',
  'document_id',
  'documentId',
  'doc_id',
  'docId',
  'id',
  '_id',
  'file_id',
  'doc_uri',
  'source',
];

type Documents = readonly TracedDocument[] | null;

/**
 * Returns the documents of a retriever span, best first, from the first of these sources:
 *
 * 1. `gen_ai.retrieval.documents`, structured or JSON text (OTel GenAI);
 * 2. `retrieval.documents.N.document.*` (OpenInference), `gen_ai.memory.records` (OTel GenAI);
 * 3. the output as JSON, in any of the shapes of `readDocuments`: `output.value` (OpenInference),
 *    `langfuse.observation.output`, `gen_ai.task.output` and `traceloop.entity.output` (OpenLLMetry),
 *    `gen_ai.completion` (LangSmith), `mlflow.spanOutputs` (MLflow), `db.vector.query.response.documents` (Spring AI);
 * 4. events `db.query.result` and `db.search.result`, then `db.vector.query.result.N.*` (OpenLLMetry), then the
 *    event `db.vector.content.query.response` (Spring AI);
 * 5. an empty list, if a result count is 0.
 *
 * If a document lacks a field, the field is taken from the document at the same rank in another source whose list has
 * the same length. LangChain, for example, reports ids only in the output. If attributes or events were dropped, the
 * longest list is used instead of the first list.
 *
 * @returns null (not an empty list) if the span does not report its documents
 */
export function readRetrievedDocuments(span: OtlpSpan): Documents {
  const { attributes } = span;
  const lists = [
    readDocuments(attributes['gen_ai.retrieval.documents']),
    readDocumentList(attributes, 'retrieval.documents'),
    readDocuments(attributes['gen_ai.memory.records']),
    ...outputNames.map((name) => readDocuments(attributes[name])),
    readQuotedTexts(attributes[SPRING_DOCUMENTS]),
    readResultEvents(span),
    readDocumentList(attributes, 'db.vector.query.result'),
    readContentEvent(span),
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

/** Returns the output documents of a reranker, best first (OpenInference, OpenLLMetry); null if unknown. */
export function readRerankedDocuments(span: OtlpSpan): Documents {
  const { attributes } = span;
  const listed = readDocumentList(attributes, 'reranker.output_documents');
  const output = readDocuments(attributes['output.value']) ?? readDocuments(attributes['traceloop.entity.output']);
  return (listed ?? output)?.slice(0, MAX_DOCUMENTS) ?? null;
}

/**
 * Identifies each document by the first available of the following: its own id, an id in its metadata or fields, or a
 * hash of its content (`contentId`). Never uses the score. A document that has no id and no content keeps its rank with
 * a placeholder id.
 */
export function identifyDocuments(
  traced: readonly TracedDocument[],
  span: OtlpSpan,
  fieldKeys: readonly string[] = [],
) {
  let unidentified = 0;
  const documents = traced.map(({ id, score, content, metadata, fields }, rank): RetrievedDocument => {
    const known = id ?? idWithin([metadata, fields]);
    const compared = fieldKeys.length === 0 ? {} : { fields: readFields([metadata, fields], fieldKeys) };
    const found = known ?? (content === null ? null : contentId(content));
    if (found !== null) return { id: found, score, ...compared };
    unidentified += 1;
    return { id: placeholderId(`${span.traceId}-${span.spanId}`, rank), score, ...compared };
  });
  return {
    documents,
    /** Number of documents with a placeholder id. */
    unidentified,
  };
}

function idWithin(places: readonly (Attributes | null)[]): string | null {
  for (const key of documentIdKeys) {
    for (const place of places) {
      const id = readId(place?.[key]);
      if (id !== null) return id;
    }
  }
  return null;
}

/**
 * Maximum length of a compared field's value; the HTTP API has the same limit. A longer value counts as unknown,
 * because a truncated value would be a different value.
 */
const MAX_FIELD_VALUE = 128;
const unusable = /\p{Cc}|\p{Cs}/u;

function readFields(places: readonly (Attributes | null)[], keys: readonly string[]): Readonly<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (const key of keys) {
    for (const place of places) {
      const value = place !== null && Object.hasOwn(place, key) ? place[key] : undefined;
      const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
      if (typeof text !== 'string' || text === '' || text.length > MAX_FIELD_VALUE || unusable.test(text)) continue;
      fields[key] = text;
      break;
    }
  }
  return fields;
}

const SPRING_DOCUMENTS = 'db.vector.query.response.documents';

export const outputNames = [
  'output.value',
  'langfuse.observation.output',
  'gen_ai.task.output',
  'traceloop.entity.output',
  'gen_ai.completion',
  'mlflow.spanOutputs',
  SPRING_DOCUMENTS,
  'gen_ai.tool.call.result',
  'ai.toolCall.result',
];

const resultCounts = [
  'db.vector.query.result_count',
  'db.vector.query.result.matches_length',
  'gen_ai.memory.record.count',
];

/** Reads `prefix.N.*`, or a list in the attribute `prefix`. */
function readDocumentList(attributes: Attributes, prefix: string): Documents {
  const flattened = readFlattenedList(attributes, prefix, MAX_DOCUMENTS);
  if (flattened === null) return readDocuments(attributes[prefix]);
  return flattened.map((fields) => (fields === null ? noDocument : toDocument(fields)));
}

/**
 * Reads events, one per result. If a Milvus span contains several queries, the queries are numbered, and only the first
 * query is read. A distance is not read as a score: whether a larger distance is better depends on the store's metric,
 * which the span does not report.
 */
function readResultEvents(span: OtlpSpan): Documents {
  const found = span.events.filter(({ name, attributes }) => {
    if (name === 'db.search.result') return (readNumber(attributes['db.search.query.id']) ?? 0) === 0;
    return name === 'db.query.result';
  });
  return found.length === 0 ? null : found.map((event) => toDocument(event.attributes));
}

/** Reads the texts that a Spring AI vector store returned. */
function readContentEvent(span: OtlpSpan): Documents {
  const event = span.events.find(({ name }) => name === 'db.vector.content.query.response');
  return event === undefined ? null : readDocuments(event.attributes['db.vector.query.content']);
}

/** Adds missing fields from the document at the same rank in another list, unless the contents differ. */
function complete(known: TracedDocument, other: TracedDocument | undefined): TracedDocument {
  if (other === undefined) return known;
  if (known.content !== null && other.content !== null && known.content !== other.content) return known;
  return {
    id: known.id ?? other.id,
    score: known.score ?? other.score,
    content: known.content ?? other.content,
    metadata: known.metadata ?? other.metadata,
    fields: known.fields ?? other.fields,
  };
}

export interface ExtractionOptions {
  /** Returns the pipeline of a span or log record; null if there is none. */
  pipelineOf(telemetry: Telemetry): string | null;
  segmentKeysOf(pipeline: string): readonly string[];
  /** Returns the keys, in documents or their metadata, whose values become document fields. */
  fieldKeysOf(pipeline: string): readonly string[];
  /** Returns the reader for a span that calls a tool declared as a retriever in the config; null for any other span. */
  toolOf(span: OtlpSpan): RetrievalTool | null;
}

/**
 * Reads the spans of a tool. Each method returns null if the config has no expression, or if the expression does not
 * match the span. If a method returns null, the caller reads the same attributes as for any other retriever.
 */
export interface RetrievalTool {
  readText(span: OtlpSpan): string | null;
  readDocuments(span: OtlpSpan): readonly TracedDocument[] | null;
}
