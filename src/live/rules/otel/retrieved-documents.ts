/** What a retriever or reranker span tells of its documents, wherever its instrumentation put them. */
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

/** How a document without an id is given one. */
export interface DocumentIdentity {
  /** Keys of its metadata, or of the document itself, that hold an id, best first. */
  readonly documentIdKeys: readonly string[];
}

type Documents = readonly TracedDocument[] | null;

/**
 * The documents of a retriever span, best first, from the first of these that the span has:
 *
 * 1. `gen_ai.retrieval.documents`, structured or JSON text (OTel GenAI);
 * 2. `retrieval.documents.N.document.*` (OpenInference);
 * 3. the output as JSON, in any of the shapes of `readDocuments`: `output.value` (OpenInference),
 *    `langfuse.observation.output`, `gen_ai.task.output` and `traceloop.entity.output` (OpenLLMetry), `gen_ai.completion`
 *    (LangSmith), `mlflow.spanOutputs` (MLflow), `db.vector.query.response.documents` (Spring AI);
 * 4. events `db.query.result` and `db.search.result`, then `db.vector.query.result.N.*` (OpenLLMetry), then the event
 *    `db.vector.content.query.response` (Spring AI);
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
    readDocuments(attributes['gen_ai.retrieval.documents']),
    readDocumentList(attributes, 'retrieval.documents'),
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

/** The documents that a reranker put out, best first (OpenInference); null when its span does not tell. */
export function readRerankedDocuments(span: OtlpSpan): Documents {
  const { attributes } = span;
  const listed = readDocumentList(attributes, 'reranker.output_documents');
  return (listed ?? readDocuments(attributes['output.value']))?.slice(0, MAX_DOCUMENTS) ?? null;
}

/** Documents by id, each at the rank that it was shown at. */
export interface IdentifiedDocuments {
  readonly documents: readonly RetrievedDocument[];
  /** How many have a placeholder for an id. */
  readonly unidentified: number;
}

/**
 * The id of a document is its own, else that of its metadata, else that of its content (`contentId`), and never depends on
 * its score. A document with none of these cannot be told from others: it keeps its rank under a placeholder.
 */
export function identifyDocuments(
  traced: readonly TracedDocument[],
  identity: DocumentIdentity,
  span: Pick<OtlpSpan, 'traceId' | 'spanId'>,
): IdentifiedDocuments {
  let unidentified = 0;
  const documents = traced.map(({ id, score, content, metadata, fields }, rank) => {
    const known = id ?? idWithin([metadata, fields], identity);
    const found = known ?? (content === null ? null : contentId(content));
    if (found !== null) return { id: found, score };
    unidentified += 1;
    return { id: placeholderId(`${span.traceId}-${span.spanId}`, rank), score };
  });
  return { documents, unidentified };
}

function idWithin(places: readonly (Attributes | null)[], { documentIdKeys }: DocumentIdentity): string | null {
  for (const key of documentIdKeys) {
    for (const place of places) {
      const id = readId(place?.[key]);
      if (id !== null) return id;
    }
  }
  return null;
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
];

const resultCounts = ['db.vector.query.result_count', 'db.vector.query.result.matches_length'];

/** `prefix.N.*`, or all of them as one list under the prefix. */
function readDocumentList(attributes: Attributes, prefix: string): Documents {
  const flattened = readFlattenedList(attributes, prefix, MAX_DOCUMENTS);
  if (flattened === null) return readDocuments(attributes[prefix]);
  return flattened.map((fields) => (fields === null ? noDocument : toDocument(fields)));
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

/** The texts that a vector store of Spring AI returned. */
function readContentEvent(span: OtlpSpan): Documents {
  const event = span.events.find(({ name }) => name === 'db.vector.content.query.response');
  return event === undefined ? null : readDocuments(event.attributes['db.vector.query.content']);
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
    fields: known.fields ?? other.fields,
  };
}

/** What the caller has to say for spans and log records to become live queries and feedback. */
export interface ExtractionOptions extends DocumentIdentity {
  /** The pipeline of a span or log record; null when it belongs to none, and is then no retriever of ours. */
  pipelineOf(telemetry: Telemetry): string | null;
  /** The segment keys of a pipeline. */
  segmentKeysOf(pipeline: string): readonly string[];
}
