/** Creates the embedder for a config. To add a kind, add one case to `protocolOf`. */
import { plural } from '../../core/format.ts';
import { at, bearer, createJsonApi } from '../../platform/outbound/json-api.ts';
import { vectorOfBytes } from '../../platform/postgres/values.ts';
import type { Embedder, EmbedderConfig } from './embedder.ts';

/**
 * Creates an embedder. A failure has the code of a connection error, or one of these codes for an invalid response:
 * `wrong_count`, `missing_index`, `no_vector`, `not_a_number`, `length_mismatch`, `dimension_mismatch` or
 * `zero_vector`. A zero vector is invalid because it has no neighbors. The latency is the total over all batches.
 *
 * @throws RecalldError config_invalid for an invalid address, header or TLS file
 */
export function createEmbedder(config: EmbedderConfig): Embedder {
  const api = createJsonApi(
    { ...config, url: config.base_url },
    {
      service: 'The embedder',
      configField: 'embedder',
      urlKey: 'base_url',
      credentials: bearer(config.api_key),
      credentialsKey: 'api_key',
    },
  );
  const { identity, path, dimensions, bodyOf, read } = protocolOf(config);
  return {
    identity,
    async embed(texts, signal) {
      signal.throwIfAborted();
      const vectors: Float32Array[] = [];
      let latencyMs = 0;
      try {
        for (let start = 0; start < texts.length; start += config.batch_size) {
          const batch = texts.slice(start, start + config.batch_size);
          const answer = await api.call({ method: 'POST', path, body: bodyOf(batch), purpose: 'embedding' }, signal);
          latencyMs += answer.latencyMs;
          if (answer.kind === 'failed') {
            return { kind: 'failed', code: answer.code, message: answer.message, latencyMs };
          }
          const found = read(answer.json, batch.length);
          checkVectors(found, batch.length);
          vectors.push(...found);
        }
        checkLengths(vectors, dimensions);
        return { kind: 'vectors', vectors, latencyMs };
      } catch (error) {
        if (!(error instanceof BrokenResponse)) throw error;
        return { kind: 'failed', code: error.code, message: error.message, latencyMs };
      }
    },
    close: async () => api.close(),
  };
}

class BrokenResponse extends Error {
  readonly code: string;

  constructor(code: string, problem: string) {
    super(`The embedder ${problem}.`);
    this.code = code;
  }
}

/**
 * Returns the parts of the protocol that differ between embedding APIs. `dimensions` is the required vector length, or
 * null if any length is accepted. `read` returns the vectors of one response, in the order of the texts, or throws
 * BrokenResponse.
 */
function protocolOf(config: EmbedderConfig) {
  switch (config.kind) {
    // OpenAI, Azure, vLLM, Text Embeddings Inference, Ollama, and gateways with an OpenAI-compatible API. recalld sorts
    // the vectors by their `index` field. Azure's `api-version` is a parameter of the base address.
    case 'openai': {
      const { model, dimensions } = config;
      const optional = dimensions === undefined ? {} : { dimensions };
      return {
        identity: `openai ${model}${dimensions === undefined ? '' : ` ${dimensions}`}`,
        path: '/embeddings',
        dimensions: dimensions ?? null,
        bodyOf: (input: readonly string[]) => ({ model, input, encoding_format: 'float', ...optional }),
        read: readData,
      };
    }
    // Hugging Face Text Embeddings Inference returns a list of vectors in the order of the texts.
    case 'tei': {
      const { prompt_name: promptName } = config;
      const optional = promptName === undefined ? {} : { prompt_name: promptName };
      return {
        // The service runs a single model, chosen when it starts, so requests do not name a model.
        identity: `tei${promptName === undefined ? '' : ` ${promptName}`}`,
        path: '/embed',
        dimensions: null,
        bodyOf: (inputs: readonly string[]) => ({ inputs, truncate: true, ...optional }),
        read: readRows,
      };
    }
  }
}

/** @param count number of texts; each index from 0 to count - 1 must occur exactly once */
function readData(json: unknown, count: number): readonly Float32Array[] {
  const data = at(json, 'data');
  if (!Array.isArray(data)) {
    throw new BrokenResponse('no_vector', 'returned no `data` list; check that embedder.base_url ends in /v1');
  }
  if (data.length !== count) throw wrongCount(data.length, count);
  const ordered = new Map<number, Float32Array>();
  for (const [place, entry] of (data as unknown[]).entries()) {
    const index = at(entry, 'index');
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      throw new BrokenResponse(
        'missing_index',
        `returned a data list in which element ${place} has no valid index field`,
      );
    }
    if (ordered.has(index)) throw new BrokenResponse('missing_index', `returned index ${index} twice`);
    const vector = readVector(at(entry, 'embedding'));
    if (vector === null) throw new BrokenResponse('no_vector', `returned element ${place} of data without a vector`);
    ordered.set(index, vector);
  }
  return Array.from({ length: count }, (_, index) => ordered.get(index) ?? new Float32Array());
}

function readRows(json: unknown): readonly Float32Array[] {
  if (!Array.isArray(json)) {
    throw new BrokenResponse('no_vector', 'returned no list of vectors; check embedder.base_url');
  }
  return (json as unknown[]).map((row, place) => {
    const vector = readVector(row);
    if (vector === null) throw new BrokenResponse('no_vector', `returned element ${place}, which is not a vector`);
    return vector;
  });
}

/** Reads a vector from JSON: a list of numbers, or base64 of little-endian float32, which some gateways return. */
function readVector(value: unknown): Float32Array | null {
  if (typeof value === 'string') return decodeBase64(value);
  if (!Array.isArray(value) || value.length === 0) return null;
  // A number with more than 53 bits arrives as a string (see parseExactJson). Any other value that is not a number
  // becomes NaN.
  return Float32Array.from(value as unknown[], (item) => {
    const isNumeric = typeof item === 'number' || (typeof item === 'string' && /^-?\d+$/.test(item));
    return isNumeric ? Number(item) : Number.NaN;
  });
}

function decodeBase64(text: string): Float32Array | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.byteLength === 0 || bytes.byteLength % 4 !== 0) return null;
  return vectorOfBytes(bytes);
}

function wrongCount(returned: number, count: number): BrokenResponse {
  return new BrokenResponse('wrong_count', `returned ${plural(returned, 'vector')} for ${plural(count, 'text')}`);
}

function checkVectors(vectors: readonly Float32Array[], count: number): void {
  if (vectors.length !== count) throw wrongCount(vectors.length, count);
  for (const [index, vector] of vectors.entries()) {
    if (!vector.every(Number.isFinite)) {
      throw new BrokenResponse(
        'not_a_number',
        `returned vector ${index}, which contains a value that is not a finite number`,
      );
    }
    if (vector.every((value) => value === 0)) {
      throw new BrokenResponse('zero_vector', `returned a zero vector, which has no direction, for text ${index}`);
    }
  }
}

function checkLengths(vectors: readonly Float32Array[], dimensions: number | null): void {
  const [first] = vectors;
  if (first === undefined) return;
  const index = vectors.findIndex((vector) => vector.length !== first.length);
  if (index > 0) {
    const lengths = `vector ${index} has ${vectors[index]?.length} numbers, but the first vector has ${first.length}`;
    throw new BrokenResponse('length_mismatch', `returned vectors of different lengths: ${lengths}`);
  }
  if (dimensions === null || first.length === dimensions) return;
  throw new BrokenResponse(
    'dimension_mismatch',
    `returned vectors of ${first.length} numbers, but embedder.dimensions is ${dimensions}; the model may not support other lengths`,
  );
}
