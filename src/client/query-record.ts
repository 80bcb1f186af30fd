/** A tracked query as the client keeps it: a checked copy, which later changes by the host cannot reach. */
import { copyEmbedding, encodeEmbedding } from './embedding.ts';
import {
  InvalidField,
  MAX_SHORT_TEXT,
  MAX_TEXT,
  readCount,
  readIdentifier,
  readNumber,
  readObject,
  readText,
  readTime,
  required,
} from './fields.ts';
import { estimateBytes } from './record-size.ts';

const MAX_RESULTS = 1000;
const MAX_SEGMENTS = 16;
const DAY_MS = 86_400_000;

/** Base64 and the vector itself, per number. */
const EMBEDDING_BYTES = 6;

export interface QueryRecord {
  /** Estimate of what it takes, in memory and on the wire. */
  readonly bytes: number;
  readonly occurredAt: number;
  readonly embedding: Float32Array | undefined;
  /** The other fields, under their names on the wire. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What the client adds to the words of the host. */
export interface QueryContext {
  readonly id: string;
  readonly pipeline: string | undefined;
  readonly now: number;
  /** Probability with which the client keeps a query. */
  readonly sampleRate: number;
}

/** Copies and checks a query; throws InvalidField when a field cannot be used. */
export function copyQuery(query: Readonly<Record<string, unknown>>, context: QueryContext): QueryRecord {
  const error = readError(query['error']);
  const results = readResults(query['results']);
  if (results === undefined && error === undefined) {
    throw new InvalidField('results is missing, which only goes with an error');
  }
  const embedding = copyEmbedding(query['embedding']);
  const fields = {
    id: context.id,
    pipeline: required(readIdentifier(query['pipeline'], 'pipeline') ?? context.pipeline, 'pipeline'),
    text: readText(query['text'], 'text', MAX_TEXT),
    top_k: readCount(query['topK'], 'topK'),
    session_id: readIdentifier(query['sessionId'], 'sessionId'),
    trace_id: readIdentifier(query['traceId'], 'traceId'),
    results: results ?? [],
    latency_ms: readNumber(query['latencyMs'], 'latencyMs', 0, DAY_MS),
    error,
    segments: readSegments(query['segments']),
    user_id: readIdentifier(query['userId'], 'userId'),
    versions: readVersions(query['versions']),
    sampling: readSampling(query['sampling'], context.sampleRate),
  };
  return {
    bytes: estimateBytes(fields) + (embedding?.length ?? 0) * EMBEDDING_BYTES,
    occurredAt: readTime(query['occurredAt'], 'occurredAt') ?? context.now,
    embedding,
    fields,
  };
}

/** The record as one item of `POST /v1/queries`. */
export function queryToJson({ fields, occurredAt, embedding }: QueryRecord): string {
  return JSON.stringify({
    ...fields,
    occurred_at: new Date(occurredAt).toISOString(),
    embedding: embedding === undefined ? undefined : encodeEmbedding(embedding),
  });
}

interface WireResult {
  readonly id: string;
  readonly score?: number;
}

function readResults(value: unknown): WireResult[] | undefined {
  if (value === null || value === undefined) return undefined;
  if (!Array.isArray(value)) throw new InvalidField('results must be an array');
  if (value.length > MAX_RESULTS) throw new InvalidField(`results has more than ${MAX_RESULTS} documents`);
  return Array.from(value, readResult);
}

function readResult(value: unknown): WireResult {
  if (typeof value !== 'object' || value === null) {
    return { id: required(readIdentifier(value, 'results[].id'), 'results[].id') };
  }
  const { id, score } = value as { readonly id?: unknown; readonly score?: unknown };
  const document = { id: required(readIdentifier(id, 'results[].id'), 'results[].id') };
  // The ranking is worth keeping without a score that JSON cannot carry.
  if (typeof score === 'number') return Number.isFinite(score) ? { ...document, score } : document;
  if (score === null || score === undefined) return document;
  throw new InvalidField('results[].score must be a number');
}

function readError(value: unknown): string | undefined {
  // Not instanceof: an Error may come from another realm, as in a sandbox.
  const message = typeof value === 'object' && value !== null && 'message' in value ? value.message : value;
  if (message === null || message === undefined) return undefined;
  if (typeof message !== 'string') throw new InvalidField('error must be a string or an Error');
  return message.slice(0, MAX_SHORT_TEXT);
}

function readSegments(value: unknown): Record<string, string> | undefined {
  const segments = readObject(value, 'segments');
  if (segments === undefined) return undefined;
  const entries = Object.entries(segments).filter(([, label]) => label !== null && label !== undefined);
  if (entries.length > MAX_SEGMENTS) throw new InvalidField(`segments has more than ${MAX_SEGMENTS} keys`);
  return Object.fromEntries(
    entries.map(([key, label]) => [required(readText(key, 'segments', 64), 'segments'), readLabel(label)]),
  );
}

function readLabel(value: unknown): string {
  const label = typeof value === 'boolean' || Number.isFinite(value) ? String(value) : value;
  return required(readText(label, 'segments', 256), 'segments');
}

function readVersions(value: unknown): Record<string, string | undefined> | undefined {
  const versions = readObject(value, 'versions');
  if (versions === undefined) return undefined;
  const read = (name: string) => readText(versions[name], `versions.${name}`, MAX_SHORT_TEXT);
  return { index: read('index'), embedder: read('embedder'), retriever: read('retriever') };
}

/** Product of the host's own sampling and ours; undefined when everything is told. */
function readSampling(value: unknown, sampleRate: number): { readonly probability: number } | undefined {
  const sampling = readObject(value, 'sampling');
  const upstream = sampling === undefined ? 1 : required(readNumber(sampling['probability'], 'sampling.probability', 0, 1), 'sampling.probability');
  if (upstream === 0) throw new InvalidField('sampling.probability must be more than 0');
  const probability = upstream * sampleRate;
  return probability === 1 ? undefined : { probability };
}
