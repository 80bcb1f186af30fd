/** An embedder with vectors for known texts. A call with an unknown text fails. */
import type { Embedder, EmbedderAnswer } from '../../src/connectors/embedders/embedder.ts';

/** @param vectors keyed by text; if any text is unknown, the answer is `failed` with code `http_500` */
export function memoryEmbedder(vectors: Readonly<Record<string, readonly number[]>>): Embedder {
  return {
    identity: 'memory',
    embed(texts): Promise<EmbedderAnswer> {
      const known = texts.flatMap((text) => (Object.hasOwn(vectors, text) ? [vectors[text] ?? []] : []));
      if (known.length < texts.length) {
        const message = 'The embedder embedding failed: it returned 500.';
        return Promise.resolve({ kind: 'failed', code: 'http_500', message, latencyMs: 3 });
      }
      const found = known.map((vector) => Float32Array.from(vector));
      return Promise.resolve({ kind: 'vectors', vectors: found, latencyMs: 3 });
    },
  };
}
