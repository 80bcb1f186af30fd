/** What embedding services have in common: texts go out in batches, vectors come back checked. */

import type { JsonAnswer } from '../outbound/json-api.ts';
import type { EmbedderAnswer } from './embedder.ts';

/** The vectors of one answer in the order of the texts, or what is wrong with it. */
export type VectorReading =
  | { readonly kind: 'vectors'; readonly vectors: readonly Float32Array[] }
  | { readonly kind: 'broken'; readonly code: string; readonly problem: string };

interface BatchSettings {
  /** What the service is called in messages: `The embedder`. */
  readonly service: string;
  /** Most texts in one request. */
  readonly batchSize: number;
  /** Length that every vector must have, null for any. */
  readonly dimensions: number | null;
  call(texts: readonly string[], signal: AbortSignal): Promise<JsonAnswer>;
  read(json: unknown, count: number): VectorReading;
}

/**
 * Embeds the texts batch by batch and gives all vectors, or the first failure. The latency is the sum of those of the
 * batches. Beside the codes of the connection: `wrong_count`, `missing_index`, `no_vector`, `not_a_number`,
 * `length_mismatch`, `dimension_mismatch` and `zero_vector`, since a vector without a direction is near to nothing.
 */
export async function embedInBatches(
  settings: BatchSettings,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<EmbedderAnswer> {
  signal.throwIfAborted();
  const { service, batchSize, dimensions } = settings;
  const vectors: Float32Array[] = [];
  let latencyMs = 0;
  for (let start = 0; start < texts.length; start += batchSize) {
    const batch = texts.slice(start, start + batchSize);
    const answer = await settings.call(batch, signal);
    latencyMs += answer.latencyMs;
    if (answer.kind === 'failed') {
      return { kind: 'failed', code: answer.code, message: answer.message, latencyMs };
    }
    const reading = settings.read(answer.json, batch.length);
    const checked = reading.kind === 'vectors' ? checkVectors(reading.vectors, batch.length) : reading;
    if (checked.kind === 'broken') {
      return { kind: 'failed', code: checked.code, message: `${service} ${checked.problem}.`, latencyMs };
    }
    vectors.push(...checked.vectors);
  }
  const broken = checkLengths(vectors, dimensions);
  return broken === null
    ? { kind: 'vectors', vectors, latencyMs }
    : { kind: 'failed', code: broken.code, message: `${service} ${broken.problem}.`, latencyMs };
}

/** One vector as JSON has it: a list of numbers, or base64 of little-endian float32. */
export function readVector(value: unknown): Float32Array | null {
  if (typeof value === 'string') return decodeBase64(value);
  if (!Array.isArray(value) || value.length === 0) return null;
  // A number of more than 53 bits arrives as text, see parseExactJson; anything else that is no number becomes NaN.
  return Float32Array.from(value as unknown[], (item) => {
    const isNumeric = typeof item === 'number' || (typeof item === 'string' && /^-?\d+$/.test(item));
    return isNumeric ? Number(item) : Number.NaN;
  });
}

export function broken(code: string, problem: string): VectorReading {
  return { kind: 'broken', code, problem };
}

function decodeBase64(text: string): Float32Array | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.byteLength === 0 || bytes.byteLength % 4 !== 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, index) => view.getFloat32(index * 4, true));
}

function checkVectors(vectors: readonly Float32Array[], count: number): VectorReading {
  if (vectors.length !== count) {
    return broken('wrong_count', `gave ${vectors.length} vectors for ${count} texts`);
  }
  for (const [index, vector] of vectors.entries()) {
    if (!vector.every(Number.isFinite)) {
      return broken('not_a_number', `gave vector ${index} with something in it that is no finite number`);
    }
    if (vector.every((value) => value === 0)) {
      return broken('zero_vector', `gave the zero vector for text ${index}, which has no direction`);
    }
  }
  return { kind: 'vectors', vectors };
}

function checkLengths(
  vectors: readonly Float32Array[],
  dimensions: number | null,
): { readonly code: string; readonly problem: string } | null {
  const [first] = vectors;
  if (first === undefined) return null;
  const index = vectors.findIndex((vector) => vector.length !== first.length);
  if (index > 0) {
    const lengths = `vector ${index} has ${vectors[index]?.length} numbers, the first one ${first.length}`;
    return { code: 'length_mismatch', problem: `gave vectors of different lengths: ${lengths}` };
  }
  if (dimensions === null || first.length === dimensions) return null;
  const problem = `gave vectors of ${first.length} numbers, and embedder.dimensions is ${dimensions}; the model may not offer a choice`;
  return { code: 'dimension_mismatch', problem };
}
