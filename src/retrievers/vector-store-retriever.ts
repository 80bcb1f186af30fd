/** A retriever that is an embedding model and a vector store, without a service in front of them. */
import type { Embedder } from '../embedders/embedder.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import { failureOf, type Retriever, withinDeadline } from './retriever.ts';
import { compileFilter } from './template.ts';

interface VectorStoreRetrieverSettings {
  readonly embedder: Embedder;
  readonly store: VectorStore;
  /** Values may hold placeholders; see compileFilter. */
  readonly filter: Readonly<Record<string, string>>;
  /** For embedding and search together. */
  readonly timeoutMs: number;
  /** Where the config describes it. */
  readonly configField: string;
}

/**
 * Embeds the text and asks for the k nearest; the score of a document is its cosine similarity. Failures keep the
 * codes of embedder and store; `unsupported` says what this store cannot do. Fewer than k documents are an answer.
 *
 * @throws RecalldError `config_invalid` for an unknown placeholder in the filter
 */
export function createVectorStoreRetriever(settings: VectorStoreRetrieverSettings): Retriever {
  const { embedder, store, timeoutMs, configField } = settings;
  const renderFilter = compileFilter(settings.filter, `${configField}.filter`);
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
