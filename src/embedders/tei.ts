/** Hugging Face Text Embeddings Inference by its own API. */

import type { JsonApi } from '../outbound/json-api.ts';
import { broken, embedInBatches, readVector, type VectorReading } from './batches.ts';
import type { Embedder } from './embedder.ts';

export interface TeiEmbedderSettings {
  readonly api: JsonApi;
  /** Prompt of the model that is put before each text, null for none. */
  readonly promptName: string | null;
  /** The service refuses more than its `--max-client-batch-size`, 32 by default. */
  readonly batchSize: number;
}

/** `POST {base}/embed {inputs, truncate: true, prompt_name?}`; it answers a list of vectors in the order of the texts. */
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
