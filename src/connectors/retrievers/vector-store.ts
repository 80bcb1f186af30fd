/** A retriever that consists of an embedding model and a vector store, without a service in front of them. */
import type { RetrieverConfigOf } from './config.ts';
import { failureOf, missingPart, type Retriever, type RetrieverParts, withinDeadline } from './retriever.ts';
import { compileFilter } from './template.ts';

/**
 * Embeds the text and returns the k nearest documents, with cosine similarity as the score. A failure has the code that
 * the embedder or the store returned. If the store lacks a required feature, the code is `unsupported`, and the message
 * states the reason. A result with fewer than k documents is valid.
 *
 * @throws RecalldError `config_invalid` for an unknown placeholder in the filter
 */
export function createVectorStoreRetriever(
  { filter, timeout_ms: timeoutMs }: RetrieverConfigOf<'vector_store'>,
  { embedder, store }: RetrieverParts,
  configField: string,
): Retriever {
  if (store === null) throw missingPart('vector_store', configField);
  if (embedder === null) throw missingPart('embedder', configField);
  const renderFilter = compileFilter(filter, `${configField}.filter`);
  return {
    retrieve: (request, signal) =>
      withinDeadline(timeoutMs, signal, async (signal) => {
        const embedded = await embedder.embed([request.text], signal);
        if (embedded.kind === 'failed') return failureOf(embedded);
        const earlierMs = embedded.latencyMs;
        const [vector = new Float32Array()] = embedded.vectors;
        const withContent = request.withText ?? false;
        const found = await store.nearest(
          { vector, k: request.k, filter: renderFilter(request), exact: false, withContent },
          signal,
        );
        if (found.kind === 'failed') return failureOf(found, earlierMs);
        if (found.kind === 'unsupported') {
          return failureOf({ code: 'unsupported', message: found.reason, latencyMs: earlierMs });
        }
        const documents = found.value.neighbours.map(({ id, similarity, content }) =>
          withContent ? { id, score: similarity, text: content } : { id, score: similarity },
        );
        return { kind: 'documents', documents, latencyMs: earlierMs + found.latencyMs, attempts: 1 };
      }),
  };
}
