/**
 * Parses the shapes in which retrievers return documents: lists, columns, pairs with a score, and wrappers of these.
 */
import { endsEarly, parseLooseJson } from '../../../core/text/loose-json.ts';
import {
  type Attributes,
  type AttributeValue,
  isArray,
  isObject,
  readFirst,
  readId,
  readNumber,
  readObject,
  readString,
  readStructure,
} from './span.ts';

/** A document as it was traced; any field may be missing. */
export interface TracedDocument {
  readonly id: string | null;
  readonly score: number | null;
  readonly content: string | null;
  readonly metadata: Attributes | null;
  /** Fields of the document itself. Some instrumentation libraries put these fields into the metadata instead. */
  readonly fields: Attributes | null;
}

type Value = AttributeValue | undefined;

export const MAX_DOCUMENTS = 1000;

export const noDocument: TracedDocument = { id: null, score: null, content: null, metadata: null, fields: null };

/**
 * Fields that contain the list if the output is an object: `source_nodes` (LlamaIndex), `hits` (Elasticsearch, nested;
 * Marqo), `points` (Qdrant), `objects` (Weaviate), `retrievalResults` (Bedrock), `data` (Milvus, OpenAI), `rows`
 * (PostgreSQL), `value` (Azure AI Search), `passages` (DSPy), `ResultItems` (Kendra), `root` and `children` (Vespa),
 * `outputs` (OpenLLMetry callbacks).
 */
const listNames = [
  'documents',
  'results',
  'matches',
  'hits',
  'points',
  'nodes',
  'source_nodes',
  'sourceNodes',
  'objects',
  'retrievalResults',
  'ResultItems',
  'docs',
  'chunks',
  'passages',
  'children',
  'items',
  'data',
  'rows',
  'result',
  'response',
  'output',
  'outputs',
  'root',
  'value',
];

/** Maximum nesting depth of the document list in an output. */
const MAX_LEVELS = 4;

/** Returns the documents of an output, best first; null if it contains no list in a known shape. */
export function readDocuments(value: Value): readonly TracedDocument[] | null {
  return documentsWithin(value, MAX_LEVELS);
}

/**
 * Parses a list of quoted texts without escapes, in the format of Spring AI: `["a", "b"]`. A text that contains `", "`
 * is ambiguous and is split.
 */
export function readQuotedTexts(value: Value): readonly TracedDocument[] | null {
  const inner = typeof value === 'string' ? /^\["(.*)"\]$/s.exec(value)?.[1] : undefined;
  return inner === undefined ? null : firstOf(inner.split('", "')).map(toDocument);
}

function documentsWithin(value: Value, levelsLeft: number): readonly TracedDocument[] | null {
  if (levelsLeft === 0) return null;
  const output = readStructure(value) ?? (typeof value === 'string' ? printed(value) : null);
  if (isArray(output)) return documentsOfList(output, levelsLeft);
  if (!isObject(output)) return null;
  return documentsOfColumns(output) ?? readFirst(output, listNames, (inner) => documentsWithin(inner, levelsLeft - 1));
}

function documentsOfList(list: readonly AttributeValue[], levelsLeft: number): readonly TracedDocument[] | null {
  if (list.length > 0 && list.every(isPair)) return firstOf(list).map((pair) => documentOfPair(pair));
  if (!list.some(isArray)) return firstOf(list).map(toDocument);
  // Unwraps the results of a batch with one query. Results of several queries cannot be separated.
  return list.length === 1 ? documentsWithin(list[0], levelsLeft - 1) : null;
}

function firstOf<Item>(list: readonly Item[]): readonly Item[] {
  return list.slice(0, MAX_DOCUMENTS);
}

type Pair = readonly [AttributeValue, AttributeValue];

/** True for a list of two values: a document and its score, in either order. */
function isPair(value: AttributeValue): value is Pair {
  if (!isArray(value) || value.length !== 2) return false;
  const [first, second] = value as Pair;
  return (
    (mayBeDocument(first) && (typeof second === 'number' || second === null)) ||
    (typeof first === 'number' && mayBeDocument(second))
  );
}

function mayBeDocument(value: AttributeValue): boolean {
  return isObject(value) || typeof value === 'string';
}

function documentOfPair([first, second]: Pair): TracedDocument {
  const [document, score] = typeof first === 'number' ? [second, first] : [first, second];
  return { ...toDocument(document), score: readNumber(score) };
}

const contentColumns = ['documents', 'texts', 'contents', 'chunks'];
const scoreColumns = ['scores', 'similarities', 'relevance_scores'];
const metadataColumns = ['metadatas', 'metadata', 'payloads'];

/**
 * Parses parallel lists of ids, texts and metadata, as Chroma returns them, possibly nested in a list for one query.
 * Ignores distances, which are not scores.
 */
function documentsOfColumns(output: Attributes): readonly TracedDocument[] | null {
  const column = (names: readonly string[]) => readFirst(output, names, (value) => columnOf(readStructure(value)));
  const ids = column(['ids']);
  const contents = column(contentColumns);
  const scores = column(scoreColumns);
  const lead = ids ?? (scores === null ? null : contents);
  if (lead === null) return null;
  const at = (values: readonly AttributeValue[] | null, row: number) =>
    values?.length === lead.length ? values[row] : undefined;
  const metadata = column(metadataColumns);
  return firstOf(lead).map((_, row) => {
    const content = at(contents, row);
    const own = content === undefined || content === null ? noDocument : toDocument(content);
    return {
      ...own,
      id: readId(at(ids, row)) ?? own.id,
      score: readNumber(at(scores, row)) ?? own.score,
      metadata: readObject(at(metadata, row)) ?? own.metadata,
    };
  });
}

/** Returns a list of plain values, unwrapped if it is the only element of another list; null for other values. */
function columnOf(value: Value): readonly AttributeValue[] | null {
  if (!isArray(value)) return null;
  if (!value.some(isArray)) return value;
  const [only] = value;
  return value.length === 1 && isArray(only) && !only.some(isArray) ? only : null;
}

const idNames = [
  'document.id',
  'id',
  'db.query.result.id',
  'db.search.result.id',
  '_id',
  'id_',
  'uuid',
  'node_id',
  'nodeId',
  'doc_id',
  'document_id',
  'objectID',
  'DocumentId',
];

/**
 * Fields that contain the score. Azure AI Search uses `@search.score`; Cohere and the Haystack rankers use
 * `relevance_score`.
 */
const scoreNames = [
  'document.score',
  'score',
  'db.query.result.score',
  'db.search.result.score',
  '_score',
  'relevance_score',
  'relevanceScore',
  'similarity_score',
  'similarity',
  '@search.score',
  '_rankingScore',
  'relevance',
  'certainty',
];

/** Names of content fields. The last fields in this list contain little text but still distinguish documents. */
const contentNames = [
  'document.content',
  'content',
  'pageContent',
  'page_content',
  'text',
  'db.query.result.document',
  'document',
  'chunk_text',
  'chunk',
  'passage',
  'long_text',
  'body',
  'snippet',
  'title',
  'name',
];
const metadataNames = [
  'document.metadata',
  'metadata',
  'db.query.result.metadata',
  'meta',
  'payload',
  '_source',
  'entity',
  'properties',
  'fields',
];

/** Fields that wrap the document, as in LlamaIndex nodes with scores and in serialized LangChain documents. */
const wrapperNames = ['node', 'kwargs', 'document', 'item', 'chunk'];

/** Metadata keys under which many stores save the text of a document. */
const storedContentNames = ['page_content', 'text', 'content', 'chunk_text', '_node_content'];

export function toDocument(value: Value): TracedDocument {
  if (typeof value === 'string') return documentOfText(value);
  if (!isObject(value)) return noDocument;
  const inner = readFirst(value, wrapperNames, (wrapped) => (isObject(wrapped) ? wrapped : null)) ?? {};
  const read = <T>(names: readonly string[], reader: (value: Value) => T | null) =>
    readFirst(value, names, reader) ?? readFirst(inner, names, reader);
  const metadata = read(metadataNames, readObject);
  return {
    id: read(idNames, readId),
    score: read(scoreNames, readNumber) ?? readFirst(metadata ?? {}, scoreNames, readNumber),
    content: read(contentNames, readContent) ?? readFirst(metadata ?? {}, storedContentNames, readString),
    metadata,
    fields: value,
  };
}

/** Returns a text, or the joined text parts of a message. */
function readContent(value: Value): string | null {
  if (isObject(value)) return readString(value['text']);
  if (!isArray(value)) return readString(value);
  const parts = value.flatMap((part) => (isObject(part) ? (readString(part['text']) ?? []) : []));
  return parts.length === 0 ? null : parts.join('\n');
}

/** Printed form of a LangChain document. */
const printedDocument = /^page_content=(['"])/;
const calledDocument = /^[A-Z]\w*\(/;

/**
 * Printed form of a Haystack document. The document's text is not quoted, so only the fields before and after it can be
 * parsed.
 */
const haystackDocument = /^Document\(id=([^\s,()]+)(?:, .*)?\)$/s;

/**
 * Matches scores in printed documents. The scores are removed, because otherwise the text would change with each score.
 */
const printedScores = /[,\s]*\b_?(?:score|similarity|distance)['"]?\s*[:=]\s*[-+\w.]+/gi;
const haystackScore = /, score: ([-+\d.e]+)(?:, embedding: [^,()]*)?(?:, sparse_embedding: [^,()]*)?\)$/;

/**
 * Parses a text that contains a document, either as JSON or in the form that Python prints. If such a text were used as
 * the content, the content would change with the score. If there are no known fields, the content is the JSON of all
 * fields except scores. If the JSON is truncated, the document is empty but keeps its rank.
 */
function documentOfText(text: string): TracedDocument {
  const [, haystackId] = haystackDocument.exec(text) ?? [];
  if (haystackId !== undefined && !/^['"]/.test(haystackId))
    return { ...noDocument, id: readId(haystackId), score: readNumber(haystackScore.exec(text)?.[1]) };
  const fields = readObject(text) ?? printed(text);
  if (fields === null) return { ...noDocument, content: textOfUnread(text) };
  const document = toDocument(fields);
  if (document.id !== null || document.content !== null) return document;
  const unscored = Object.entries(fields).filter(([name]) => !scoreNames.includes(name));
  return { ...document, content: JSON.stringify(Object.fromEntries(unscored)) };
}

function textOfUnread(text: string): string | null {
  if (/^\s*\{\s*"/.test(text)) return endsEarly(text) ? null : readString(text.replaceAll(printedScores, ''));
  return readString(calledDocument.test(text) ? text.replaceAll(printedScores, '') : text);
}

function printed(text: string): Attributes | null {
  const call = printedDocument.test(text)
    ? `Document(${text.replace(/(['"]) metadata=\{/, '$1, metadata={')})`
    : calledDocument.test(text)
      ? text
      : null;
  if (call === null) return null;
  try {
    const value = parseLooseJson(call) as AttributeValue;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
