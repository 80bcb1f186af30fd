/** A tracked query -> its item on the wire. */
import { copyEmbedding } from './embedding.ts';
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
import { type ClientRecord, createRecord } from './record.ts';

const MAX_RESULTS = 1000;
const MAX_SEGMENTS = 16;
const DAY_MS = 86_400_000;

/** What the client adds to the words of the host. */
export interface QueryContext {
  readonly id: string;
  readonly pipeline: string | undefined;
  readonly now: number;
  /** Probability with which the client keeps a query. */
  readonly sampleRate: number;
}

/** One item of `POST /v1/queries`; throws InvalidField when a field cannot be used. */
export function createQueryRecord(
  query: Readonly<Record<string, unknown>>,
  context: QueryContext,
): ClientRecord {
  // Its value is taken from the context; here it only must be one.
  readIdentifier(query['id'], 'id');
  const error = readError(query['error']);
  const results = readResults(query['results']);
  if (results === undefined && error === undefined) {
    throw new InvalidField('results is missing, which only goes with an error');
  }
  const fields = {
    id: context.id,
    pipeline: required(readIdentifier(query['pipeline'], 'pipeline') ?? context.pipeline, 'pipeline'),
    occurred_at: readTime(query['occurredAt'] ?? context.now, 'occurredAt'),
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
  return createRecord(fields, copyEmbedding(query['embedding']));
}

interface WireResult {
  readonly id: string;
  readonly score: number | undefined;
}

function readResults(value: unknown): WireResult[] | undefined {
  if (value === null || value === undefined) return undefined;
  if (!Array.isArray(value)) throw new InvalidField('results must be an array');
  const { length } = value;
  if (length > MAX_RESULTS) throw new InvalidField(`results has more than ${MAX_RESULTS} documents`);
  const results: WireResult[] = [];
  for (let i = 0; i < length; i++) results.push(readResult(value[i]));
  return results;
}

function readResult(value: unknown): WireResult {
  if (typeof value !== 'object' || value === null) {
    return { id: required(readIdentifier(value, 'results[].id'), 'results[].id'), score: undefined };
  }
  const { id, score } = value as { readonly id?: unknown; readonly score?: unknown };
  return { id: required(readIdentifier(id, 'results[].id'), 'results[].id'), score: readScore(score) };
}

/** The ranking is worth keeping without a score that JSON cannot carry. */
function readScore(value: unknown): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'number') throw new InvalidField('results[].score must be a number');
  return Number.isFinite(value) ? value : undefined;
}

/** An empty text is no error; an Error without a message is one, by its name. */
function readError(value: unknown): string | undefined {
  const error = isErrorLike(value) ? value.message || value.name : value;
  if (error === null || error === undefined || error === '') return undefined;
  if (typeof error !== 'string') throw new InvalidField('error must be a string or an Error');
  return error.slice(0, MAX_SHORT_TEXT);
}

/** Not instanceof: an Error may come from another realm, as in a sandbox. */
function isErrorLike(value: unknown): value is { readonly message: unknown; readonly name?: unknown } {
  return typeof value === 'object' && value !== null && 'message' in value;
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
  const upstream =
    sampling === undefined
      ? 1
      : required(readNumber(sampling['probability'], 'sampling.probability', 0, 1), 'sampling.probability');
  if (upstream === 0) throw new InvalidField('sampling.probability must be more than 0');
  const probability = upstream * sampleRate;
  return probability === 1 ? undefined : { probability };
}
