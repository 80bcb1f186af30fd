/** Two stages: a retriever that finds candidates, and a reranker that orders them. */
import type { Reranker } from '../models/reranker.ts';
import {
  type FoundDocument,
  failureOf,
  type Retriever,
  type RetrieverAnswer,
  type RetrieverStage,
  withinDeadline,
} from './retriever.ts';

/**
 * Gets candidates with their texts from the first stage and returns the reranker's best k. If a stage fails, the error
 * has the code from that stage. If a candidate has no text, the result is the error `missing_text`, because omitting
 * the candidate would change the measurement.
 *
 * @param depth number of candidates
 */
export function createRerankRetriever(
  first: Retriever,
  reranker: Reranker,
  depth: number,
  timeoutMs: number,
): Retriever {
  return {
    retrieve: (request, signal) =>
      withinDeadline(timeoutMs, signal, async (signal) => {
        const { text, k, withText = false, withStages = false } = request;
        const found = await first.retrieve({ ...request, k: depth, withText: true }, signal);
        if (found.kind !== 'documents' || found.documents.length === 0) return found;
        const documents = found.documents.slice(0, depth);
        const candidates = documents.flatMap(({ id, text }) => (hasText(text) ? [{ id, text }] : []));
        if (candidates.length < documents.length) {
          const missing = `${documents.length - candidates.length} of ${documents.length}`;
          const message = `The first stage returned ${missing} documents without a text; check the text field in its config.`;
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
          ...(withStages ? { stages: [...(found.stages ?? []), candidatesOf(found, documents)] } : {}),
          latencyMs: found.latencyMs + ranked.latencyMs,
          attempts: found.attempts,
        };
      }),
    async close() {
      await Promise.all([first.close?.(), reranker.close?.()]);
    },
  };
}

/**
 * Returns the results of the first stage as `candidates`, or as `first_stage` if the first stage has `candidates` of
 * its own.
 */
function candidatesOf(
  { stages = [], latencyMs }: Extract<RetrieverAnswer, { kind: 'documents' }>,
  documents: readonly FoundDocument[],
): RetrieverStage {
  const parallel = stages.flatMap((stage) => (stage.isSide === true ? (stage.latencyMs ?? 0) : []));
  const sequential = stages.flatMap((stage) => (stage.isSide === true ? [] : (stage.latencyMs ?? 0)));
  const reportedMs = [Math.max(0, ...parallel), ...sequential].reduce((sum, own) => sum + own, 0);
  const name = stages.some((stage) => stage.name === 'candidates') ? 'first_stage' : 'candidates';
  return { name, documents, latencyMs: Math.max(0, latencyMs - reportedMs) };
}

function hasText(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && text.trim() !== '';
}
