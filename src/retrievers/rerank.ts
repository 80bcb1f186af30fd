/** Retrieve, then rerank: a retriever made of a first stage and a service that orders what it found. */
import type { Reranker } from '../models/reranker.ts';
import { failureOf, withinDeadline } from './deadline.ts';
import type { Retriever } from './retriever.ts';

export interface RerankSettings {
  readonly first: Retriever;
  readonly reranker: Reranker;
  /** How many documents the first stage is asked for. */
  readonly candidates: number;
  /** For both stages together. */
  readonly timeoutMs: number;
}

/**
 * Asks the first stage for candidates with their texts and gives the best k by the reranker. Failures keep the codes
 * of the stage; a candidate without a text is the error `missing_text`, because to leave it out would change what is
 * measured.
 */
export function createRerankRetriever(settings: RerankSettings): Retriever {
  const { first, reranker, timeoutMs } = settings;
  return {
    retrieve: (request, signal) =>
      withinDeadline(timeoutMs, signal, async (signal) => {
        const { text, k, withText = false } = request;
        const found = await first.retrieve({ ...request, k: settings.candidates, withText: true }, signal);
        if (found.kind !== 'documents' || found.documents.length === 0) return found;
        const documents = found.documents.slice(0, settings.candidates);
        const candidates = documents.flatMap(({ id, text }) => (hasText(text) ? [{ id, text }] : []));
        if (candidates.length < documents.length) {
          const missing = `${documents.length - candidates.length} of ${documents.length}`;
          const message = `The first stage gave ${missing} documents without a text; check the field of the text in its config.`;
          return failureOf({ code: 'missing_text', message, latencyMs: found.latencyMs });
        }
        const ranked = await reranker.rerank({ text, candidates, k }, signal);
        if (ranked.kind === 'failed') return failureOf(ranked, found.latencyMs);
        const texts = new Map(withText ? candidates.map((candidate) => [candidate.id, candidate.text]) : []);
        return {
          kind: 'documents',
          documents: ranked.documents
            .slice(0, k)
            .map(({ id, score }) => (withText ? { id, score, text: texts.get(id) ?? null } : { id, score })),
          latencyMs: found.latencyMs + ranked.latencyMs,
          attempts: found.attempts,
        };
      }),
    async close() {
      await Promise.all([first.close?.(), reranker.close?.()]);
    },
  };
}

function hasText(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && text.trim() !== '';
}
