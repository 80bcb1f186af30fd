/** Creates the embedder for a config. To add a kind, add one case to `createEmbedder`. */
import { at, bearer, createJsonApi, type JsonAnswer, type JsonApi } from '../../platform/outbound/json-api.ts';
import type { Embedder, EmbedderAnswer, EmbedderConfig } from './embedder.ts';

/** @throws RecalldError config_invalid for an invalid address, header or TLS file */
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
  switch (config.kind) {
    case 'openai':
      return createOpenAiEmbedder(config, api);
    case 'tei':
      return createTeiEmbedder(config, api);
  }
}

type EmbedderOf<Kind extends EmbedderConfig['kind']> = Extract<EmbedderConfig, { kind: Kind }>;

/**
 * OpenAI-compatible embedders: OpenAI, Azure, vLLM, Text Embeddings Inference, Ollama and gateways.
 *
 * `POST {base}/embeddings {model, input, encoding_format: "float", dimensions?}`. Vectors are sorted by their `index`
 * field. Azure's `api-version` is a parameter of the base address. Some gateways always return base64, so base64 is
 * accepted too.
 */
function createOpenAiEmbedder(
  { model, dimensions, batch_size: batchSize }: EmbedderOf<'openai'>,
  api: JsonApi,
): Embedder {
  return {
    identity: `openai ${model}${dimensions === undefined ? '' : ` ${dimensions}`}`,
    embed: (texts, signal) =>
      embedInBatches(
        {
          service: 'The embedder',
          batchSize,
          dimensions: dimensions ?? null,
          call: (input, signal) =>
            api.call(
              {
                method: 'POST',
                path: '/embeddings',
                body: {
                  model,
                  input,
                  encoding_format: 'float',
                  ...(dimensions === undefined ? {} : { dimensions }),
                },
                purpose: 'embedding',
              },
              signal,
            ),
          read: readData,
        },
        texts,
        signal,
      ),
    close: async () => api.close(),
  };
}

/** @param count number of texts; each index from 0 to count - 1 must occur exactly once */
function readData(json: unknown, count: number): VectorReading {
  const data = at(json, 'data');
  if (!Array.isArray(data)) {
    return broken('no_vector', 'returned no `data` list; check that embedder.base_url ends in /v1');
  }
  if (data.length !== count) {
    return broken('wrong_count', `returned ${data.length} vectors for ${count} texts`);
  }
  const ordered = new Map<number, Float32Array>();
  for (const [place, entry] of (data as unknown[]).entries()) {
    const index = at(entry, 'index');
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      return broken('missing_index', `returned element ${place} of data without a text index`);
    }
    if (ordered.has(index)) return broken('missing_index', `returned index ${index} twice`);
    const vector = readVector(at(entry, 'embedding'));
    if (vector === null) return broken('no_vector', `returned element ${place} of data without a vector`);
    ordered.set(index, vector);
  }
  const vectors = Array.from({ length: count }, (_, index) => ordered.get(index) ?? new Float32Array());
  return { kind: 'vectors', vectors };
}

/**
 * Hugging Face Text Embeddings Inference with its native API.
 *
 * `POST {base}/embed {inputs, truncate: true, prompt_name?}` returns a list of vectors in the order of the texts.
 */
function createTeiEmbedder(
  { prompt_name: promptName, batch_size: batchSize }: EmbedderOf<'tei'>,
  api: JsonApi,
): Embedder {
  return {
    // The service runs a single model, chosen when it starts, so requests do not name a model.
    identity: `tei${promptName === undefined ? '' : ` ${promptName}`}`,
    embed: (texts, signal) =>
      embedInBatches(
        {
          service: 'The embedder',
          batchSize,
          dimensions: null,
          call: (inputs, signal) =>
            api.call(
              {
                method: 'POST',
                path: '/embed',
                body: {
                  inputs,
                  truncate: true,
                  ...(promptName === undefined ? {} : { prompt_name: promptName }),
                },
                purpose: 'embedding',
              },
              signal,
            ),
          read: readRows,
        },
        texts,
        signal,
      ),
    close: async () => api.close(),
  };
}

function readRows(json: unknown): VectorReading {
  if (!Array.isArray(json)) return broken('no_vector', 'returned no list of vectors; check embedder.base_url');
  const vectors: Float32Array[] = [];
  for (const [place, row] of (json as unknown[]).entries()) {
    const vector = readVector(row);
    if (vector === null) return broken('no_vector', `returned element ${place} that is not a vector`);
    vectors.push(vector);
  }
  return { kind: 'vectors', vectors };
}

/** Vectors of one response, in the order of the texts, or the problem with the response. */
type VectorReading =
  | { readonly kind: 'vectors'; readonly vectors: readonly Float32Array[] }
  | { readonly kind: 'broken'; readonly code: string; readonly problem: string };

/**
 * Embeds the texts in batches. Returns all vectors, or the first failure. The latency is summed over the batches. In
 * addition to connection errors, failures have the codes `wrong_count`, `missing_index`, `no_vector`, `not_a_number`,
 * `length_mismatch`, `dimension_mismatch` and `zero_vector` (a vector without a direction has no neighbors).
 */
async function embedInBatches(
  settings: {
    /** Name of the service in messages, such as `The embedder`. */
    readonly service: string;
    /** Maximum number of texts per request. */
    readonly batchSize: number;
    /** Required vector length; null for any length. */
    readonly dimensions: number | null;
    call(texts: readonly string[], signal: AbortSignal): Promise<JsonAnswer>;
    read(json: unknown, count: number): VectorReading;
  },
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

/** Reads a vector from JSON: a list of numbers, or base64 of little-endian float32. */
function readVector(value: unknown): Float32Array | null {
  if (typeof value === 'string') return decodeBase64(value);
  if (!Array.isArray(value) || value.length === 0) return null;
  // A number with more than 53 bits arrives as a string (see parseExactJson). Anything else that is not a number
  // becomes NaN.
  return Float32Array.from(value as unknown[], (item) => {
    const isNumeric = typeof item === 'number' || (typeof item === 'string' && /^-?\d+$/.test(item));
    return isNumeric ? Number(item) : Number.NaN;
  });
}

function broken(code: string, problem: string): VectorReading {
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
    return broken('wrong_count', `returned ${vectors.length} vectors for ${count} texts`);
  }
  for (const [index, vector] of vectors.entries()) {
    if (!vector.every(Number.isFinite)) {
      return broken('not_a_number', `returned vector ${index} with a value that is not a finite number`);
    }
    if (vector.every((value) => value === 0)) {
      return broken('zero_vector', `returned the zero vector for text ${index}; it has no direction`);
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
    const lengths = `vector ${index} has ${vectors[index]?.length} numbers, but the first vector has ${first.length}`;
    return { code: 'length_mismatch', problem: `returned vectors of different lengths: ${lengths}` };
  }
  if (dimensions === null || first.length === dimensions) return null;
  const problem = `returned vectors of ${first.length} numbers, but embedder.dimensions is ${dimensions}; the model may not support other lengths`;
  return { code: 'dimension_mismatch', problem };
}
