/**
 * Items in the queue. An item consists of JSON, which is created during the host's call, and a vector, which is not
 * encoded until the item is sent.
 */
import { Buffer } from 'node:buffer';
import { contentId } from '../core/text/content-id.ts';
import {
  InvalidField,
  MAX_SHORT_TEXT,
  MAX_TEXT,
  readIdentifier,
  readNumber,
  readObject,
  readText,
  readTime,
  readWholeNumber,
  required,
} from './options.ts';
import { feedbackKinds, type RankedDocument, type TrackedFeedback } from './types.ts';

/** Fields that the client adds to the host's fields. */
interface FeedbackContext {
  readonly id: string;
  readonly pipeline: string | undefined;
  readonly now: number;
}

/** Creates one item for `POST /v1/feedback`. Throws InvalidField for an invalid field. */
export function createFeedbackRecord(
  feedback: Readonly<Record<string, unknown>>,
  context: FeedbackContext,
): ClientRecord {
  const kind = feedback['kind'];
  if (!feedbackKinds.includes(kind as TrackedFeedback['kind']))
    throw new InvalidField(`kind must be one of ${feedbackKinds.join(', ')}`);
  return createRecord({
    id: readIdentifier(feedback['id'], 'id') ?? context.id,
    query_id: required(readIdentifier(feedback['queryId'], 'queryId'), 'queryId'),
    pipeline: required(readIdentifier(feedback['pipeline'], 'pipeline') ?? context.pipeline, 'pipeline'),
    occurred_at: readTime(feedback['occurredAt'] ?? context.now, 'occurredAt'),
    kind,
    value: readValue(feedback['value']),
    document_id: readIdentifier(feedback['documentId'], 'documentId'),
    rank: readWholeNumber(feedback['rank'], 'rank', 1, MAX_COUNT),
    user_id: readIdentifier(feedback['userId'], 'userId'),
    comment: readText(feedback['comment'], 'comment', MAX_TEXT),
  });
}

function readValue(value: unknown): number | boolean | string | undefined {
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (typeof value === 'number') throw new InvalidField('value must be finite');
  return readText(value, 'value', MAX_SHORT_TEXT);
}

/** Maximum rank and result count. */
const MAX_COUNT = 10_000;
const MAX_RESULTS = 1000;
const MAX_SEGMENTS = 16;
const MAX_SEGMENT_VALUE = 256;
const MAX_FIELDS = 8;
const MAX_FIELD_VALUE = 128;
const DAY_MS = 86_400_000;
const MAX_STEP = 1_000_000;

/** Fields that the client adds to the host's fields. */
interface QueryContext extends FeedbackContext {
  /** Probability with which the client samples a query. */
  readonly sampleRate: number;
}

/** Creates one item for `POST /v1/queries`. Throws InvalidField for an invalid field. */
export function createQueryRecord(query: Readonly<Record<string, unknown>>, context: QueryContext): ClientRecord {
  // Validates the query's own id, although the item gets its id from `context`.
  readIdentifier(query['id'], 'id');
  const error = readError(query['error']);
  const results = readResults(query['results'], 'results');
  if (results === undefined && error === undefined) {
    throw new InvalidField('results is missing; it may be omitted only if error is set');
  }
  const fields = {
    id: context.id,
    pipeline: required(readIdentifier(query['pipeline'], 'pipeline') ?? context.pipeline, 'pipeline'),
    occurred_at: readTime(query['occurredAt'] ?? context.now, 'occurredAt'),
    text: readText(query['text'], 'text', MAX_TEXT),
    top_k: readWholeNumber(query['topK'], 'topK', 1, MAX_COUNT),
    session_id: readIdentifier(query['sessionId'], 'sessionId'),
    trace_id: readIdentifier(query['traceId'], 'traceId'),
    episode: readEpisode(query['episode']),
    results: results ?? [],
    latency_ms: readNumber(query['latencyMs'], 'latencyMs', 0, DAY_MS),
    stages: readStages(query['stages']),
    error,
    segments: readLabels(query['segments'], 'segments', MAX_SEGMENTS, MAX_SEGMENT_VALUE),
    user_id: readIdentifier(query['userId'], 'userId'),
    versions: readVersions(query['versions']),
    sampling: readSampling(query['sampling'], context.sampleRate),
  };
  return createRecord(fields, copyEmbedding(query['embedding']));
}

/** @param value null or undefined for a query that belongs to no agent turn */
function readEpisode(value: unknown) {
  const episode = readObject(value, 'episode');
  if (episode === undefined) return undefined;
  return {
    id: required(readIdentifier(episode['id'], 'episode.id'), 'episode.id'),
    step: readWholeNumber(episode['step'], 'episode.step', 0, MAX_STEP),
    original_text: readText(episode['originalText'], 'episode.originalText', MAX_TEXT),
  };
}

function readResults(value: unknown, field: string): ReturnType<typeof readResult>[] | undefined {
  if (value === null || value === undefined) return undefined;
  if (!Array.isArray(value)) throw new InvalidField(`${field} must be an array`);
  const { length } = value;
  if (length > MAX_RESULTS) throw new InvalidField(`${field} has more than ${MAX_RESULTS} documents`);
  return Array.from({ length }, (_, i) => readResult(value[i], field));
}

function readResult(value: unknown, field: string) {
  const name = `${field}[].id`;
  const given = typeof value === 'object' && value !== null ? value : { id: value };
  const { id, score, text, fields } = given as Readonly<Partial<Record<keyof RankedDocument, unknown>>>;
  const own = typeof text === 'string' ? text : undefined;
  return {
    id: required(readIdentifier(id, name) ?? contentId(own ?? '') ?? undefined, name),
    score: readScore(score, field),
    text: own,
    fields: readLabels(fields, `${field}[].fields`, MAX_FIELDS, MAX_FIELD_VALUE),
  };
}

/** Omits a score that JSON cannot represent, because the ranking is useful without it. */
function readScore(value: unknown, field: string): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'number') throw new InvalidField(`${field}[].score must be a number`);
  return Number.isFinite(value) ? value : undefined;
}

const MAX_STAGES = 10;
const MAX_STAGE_NAME = 64;

function readStages(value: unknown): Record<string, unknown>[] | undefined {
  if (value === null || value === undefined) return undefined;
  if (!Array.isArray(value) || value.length > MAX_STAGES)
    throw new InvalidField(`stages must be an array with at most ${MAX_STAGES} elements`);
  return Array.from(value, (given: unknown) => {
    const stage = required(readObject(given, 'stages[]'), 'stages[]');
    const name = required(readText(stage['name'], 'stages[].name', MAX_STAGE_NAME), 'stages[].name');
    return {
      name: required(readIdentifier(name, 'stages[].name'), 'stages[].name'),
      latency_ms: readNumber(stage['latencyMs'], 'stages[].latencyMs', 0, DAY_MS),
      results: readResults(stage['results'], 'stages[].results'),
      side: stage['side'] === true ? true : undefined,
    };
  });
}

/**
 * Reads an error. An empty string is not an error. An Error without a message is reported by its name.
 */
function readError(value: unknown): string | undefined {
  const error = isErrorLike(value) ? value.message || value.name : value;
  if (error === null || error === undefined || error === '') return undefined;
  if (typeof error !== 'string') throw new InvalidField('error must be a string or an Error');
  return error.slice(0, MAX_SHORT_TEXT);
}

/** instanceof would not work, because an Error may come from another realm, such as a sandbox. */
function isErrorLike(value: unknown): value is { readonly message: unknown; readonly name?: unknown } {
  return typeof value === 'object' && value !== null && 'message' in value;
}

function readLabels(
  value: unknown,
  field: string,
  maxKeys: number,
  maxLength: number,
): Record<string, string> | undefined {
  const labels = readObject(value, field);
  if (labels === undefined) return undefined;
  const entries = Object.entries(labels).filter(([, label]) => label !== null && label !== undefined);
  if (entries.length > maxKeys) throw new InvalidField(`${field} has more than ${maxKeys} keys`);
  return Object.fromEntries(
    entries.map(([key, label]) => [required(readText(key, field, 64), field), readLabel(label, field, maxLength)]),
  );
}

function readLabel(value: unknown, field: string, maxLength: number): string {
  const label = typeof value === 'boolean' || Number.isFinite(value) ? String(value) : value;
  return required(readText(label, field, maxLength), field);
}

function readVersions(value: unknown): Record<string, string | undefined> | undefined {
  const versions = readObject(value, 'versions');
  if (versions === undefined) return undefined;
  const read = (name: string) => readText(versions[name], `versions.${name}`, MAX_SHORT_TEXT);
  return { index: read('index'), embedder: read('embedder'), retriever: read('retriever') };
}

/**
 * Returns the product of the host's and the client's sampling probabilities; undefined if it is 1, which means that
 * every query is sent.
 */
function readSampling(value: unknown, sampleRate: number): { readonly probability: number } | undefined {
  const sampling = readObject(value, 'sampling');
  const upstream =
    sampling === undefined
      ? 1
      : required(readNumber(sampling['probability'], 'sampling.probability', 0, 1), 'sampling.probability');
  if (upstream === 0) throw new InvalidField('sampling.probability must be more than 0');
  const probability = upstream * sampleRate;
  return probability === 1 ? undefined : { probability };
}

/** Maximum number of elements in a query vector. */
const MAX_DIMENSIONS = 16_384;

/**
 * Copies a vector in single precision. Throws InvalidField unless the vector has 1 to 16,384 numbers, all of which are
 * finite in single precision.
 */
export function copyEmbedding(value: unknown): Float32Array | undefined {
  if (value === null || value === undefined) return undefined;
  if (!Array.isArray(value) && !(value instanceof Float32Array) && !(value instanceof Float64Array)) {
    throw new InvalidField('embedding must be an array of numbers, a Float32Array or a Float64Array');
  }
  if (value.length === 0 || value.length > MAX_DIMENSIONS) {
    throw new InvalidField(`embedding must have 1 to ${MAX_DIMENSIONS} numbers`);
  }
  const copy = new Float32Array(value.length);
  let zero = 0;
  for (let i = 0; i < copy.length; i++) {
    const component: unknown = value[i];
    if (typeof component !== 'number') throw new InvalidField('embedding contains a value that is not a number');
    copy[i] = component;
    // Zero times a value is zero unless the value is NaN or infinite, so the sum reveals such a value. One check at the
    // end is twice as fast as one check per value.
    zero += 0 * (copy[i] ?? 0);
  }
  if (zero !== 0) throw new InvalidField('embedding contains a number that is not finite in single precision');
  return copy;
}

/** Returns the float32 values in base64, little-endian on every machine. */
function encodeEmbedding(embedding: Float32Array): string {
  const bytes = Buffer.alloc(embedding.byteLength);
  for (const [i, component] of embedding.entries()) bytes.writeFloatLE(component, i * 4);
  return bytes.toString('base64');
}

/**
 * Estimated memory overhead of an item: the record object itself, the header of its string and the header of its
 * vector.
 */
const OVERHEAD_BYTES = 256;

/** Upper bound on the number of bytes per vector element: an element takes 4 bytes as float32 and 5.4 in base64. */
const EMBEDDING_BYTES = 6;

export interface ClientRecord {
  /** Upper bound on the item's size in memory and on the wire. */
  readonly bytes: number;
  readonly json: string;
  readonly embedding: Float32Array | undefined;
}

/**
 * Serializes the item during the host's call; this takes microseconds. From then on, the size of the item is known, and
 * changes by the host no longer affect the item. Unlike a slice of a string, the item does not keep a larger string
 * alive.
 *
 * @param fields values, keyed by the field names of the HTTP API; undefined values are omitted
 */
export function createRecord(fields: Readonly<Record<string, unknown>>, embedding?: Float32Array): ClientRecord {
  const json = JSON.stringify(fields);
  // Engines store one byte per character, or two if any character is beyond Latin-1.
  const textBytes = Buffer.byteLength(json) === json.length ? json.length : 2 * json.length;
  return { bytes: OVERHEAD_BYTES + textBytes + EMBEDDING_BYTES * (embedding?.length ?? 0), json, embedding };
}

/** Returns the item with its vector in base64. */
export function recordToJson({ json, embedding }: ClientRecord): string {
  return embedding === undefined ? json : `${json.slice(0, -1)},"embedding":"${encodeEmbedding(embedding)}"}`;
}
