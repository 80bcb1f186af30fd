/** Config -> embedders. A new kind is one line here. */
import { createJsonApi, type JsonApi } from '../outbound/json-api.ts';
import { at } from '../outbound/json-value.ts';
import { bearer, createServiceSettings } from '../outbound/service-settings.ts';
import { broken, embedInBatches, readVector, type VectorReading } from './batches.ts';
import type { EmbedderConfig } from './config.ts';
import type { Embedder } from './embedder.ts';

/** @throws RecalldError config_invalid for an address, header or TLS file that cannot be used */
export function createEmbedder(config: EmbedderConfig): Embedder {
  const api = createJsonApi(
    createServiceSettings(
      { ...config, url: config.base_url },
      {
        service: 'The embedder',
        configField: 'embedder',
        urlKey: 'base_url',
        credentials: bearer(config.api_key),
        credentialsKey: 'api_key',
      },
    ),
  );
  const batchSize = config.batch_size;
  switch (config.kind) {
    case 'openai': {
      const { model, dimensions = null } = config;
      return createOpenAiEmbedder({ api, model, dimensions, batchSize });
    }
    case 'tei':
      return createTeiEmbedder({ api, promptName: config.prompt_name ?? null, batchSize });
  }
}

interface OpenAiEmbedderSettings {
  /** Its base address ends where `/embeddings` is put behind; the `api-version` of Azure is a parameter of it. */
  readonly api: JsonApi;
  readonly model: string;
  /** Length to ask for, null leaves it to the model. */
  readonly dimensions: number | null;
  readonly batchSize: number;
}

/**
 * Embedders that speak as OpenAI does: OpenAI, Azure, vLLM, Text Embeddings Inference, Ollama and gateways.
 *
 * `POST {base}/embeddings {model, input, encoding_format: "float", dimensions?}`. Vectors are put in order by their
 * `index`. Some gateways answer in base64 whatever was asked for, so that form is read too.
 */
export function createOpenAiEmbedder(settings: OpenAiEmbedderSettings): Embedder {
  const { api, model, dimensions, batchSize } = settings;
  return {
    identity: `openai ${model}${dimensions === null ? '' : ` ${dimensions}`}`,
    embed: (texts, signal) =>
      embedInBatches(
        {
          service: 'The embedder',
          batchSize,
          dimensions,
          call: (input, signal) =>
            api.call(
              {
                method: 'POST',
                path: '/embeddings',
                body: {
                  model,
                  input,
                  encoding_format: 'float',
                  ...(dimensions === null ? {} : { dimensions }),
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

/** @param count of texts: the indexes must be those from 0 to count - 1, each once */
function readData(json: unknown, count: number): VectorReading {
  const data = at(json, 'data');
  if (!Array.isArray(data)) {
    return broken('no_vector', 'answered without the list `data`; check that embedder.base_url ends in /v1');
  }
  if (data.length !== count) {
    return broken('wrong_count', `gave ${data.length} vectors for ${count} texts`);
  }
  const ordered = new Map<number, Float32Array>();
  for (const [place, entry] of (data as unknown[]).entries()) {
    const index = at(entry, 'index');
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      return broken('missing_index', `gave element ${place} of data without an index of a text`);
    }
    if (ordered.has(index)) return broken('missing_index', `gave index ${index} twice`);
    const vector = readVector(at(entry, 'embedding'));
    if (vector === null) return broken('no_vector', `gave element ${place} of data without a vector`);
    ordered.set(index, vector);
  }
  const vectors = Array.from({ length: count }, (_, index) => ordered.get(index) ?? new Float32Array());
  return { kind: 'vectors', vectors };
}

interface TeiEmbedderSettings {
  readonly api: JsonApi;
  /** Prompt of the model that is put before each text, null for none. */
  readonly promptName: string | null;
  /** The service refuses more than its `--max-client-batch-size`, 32 by default. */
  readonly batchSize: number;
}

/**
 * Hugging Face Text Embeddings Inference by its own API.
 *
 * `POST {base}/embed {inputs, truncate: true, prompt_name?}`; it answers a list of vectors in the order of the texts.
 */
export function createTeiEmbedder({ api, promptName, batchSize }: TeiEmbedderSettings): Embedder {
  return {
    // The service runs one model, chosen at its start, and the calls do not name it.
    identity: `tei${promptName === null ? '' : ` ${promptName}`}`,
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
                  ...(promptName === null ? {} : { prompt_name: promptName }),
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
  if (!Array.isArray(json))
    return broken('no_vector', 'answered no list of vectors; check embedder.base_url');
  const vectors: Float32Array[] = [];
  for (const [place, row] of (json as unknown[]).entries()) {
    const vector = readVector(row);
    if (vector === null) return broken('no_vector', `gave element ${place} that is no vector`);
    vectors.push(vector);
  }
  return { kind: 'vectors', vectors };
}
