/** The reranker of Hugging Face Text Embeddings Inference. */

import type { JsonApi } from '../../outbound/json-api.ts';
import type { Reranker } from '../reranker.ts';
import { type CandidateScore, rankCandidates, readScores } from './scores.ts';

export interface TeiRerankerSettings {
  readonly api: JsonApi;
  /** `/rerank` unless a proxy has it elsewhere. */
  readonly path: string;
}

/** What the service takes at a time unless it was started with another `--max-client-batch-size`. */
const BATCH_SIZE = 32;

/**
 * `POST {base}{path} {query, texts, truncate: true}`; it answers `[{index, score}]`. A cross-encoder scores each pair
 * on its own, so that more candidates than the service takes at a time are scored in several calls, one after the
 * other.
 */
export function createTeiReranker({ api, path }: TeiRerankerSettings): Reranker {
  return {
    async rerank({ text, candidates }, signal) {
      const scores: CandidateScore[] = [];
      let latencyMs = 0;
      for (let start = 0; start < candidates.length; start += BATCH_SIZE) {
        const batch = candidates.slice(start, start + BATCH_SIZE);
        const body = { query: text, texts: batch.map((candidate) => candidate.text), truncate: true };
        const answer = await api.call({ method: 'POST', path, body, purpose: 'reranking' }, signal);
        latencyMs += answer.latencyMs;
        if (answer.kind === 'failed') {
          return { kind: 'failed', code: answer.code, message: answer.message, latencyMs };
        }
        const reading = readScores(answer.json, 'score', batch.length);
        if (reading.kind === 'broken') {
          return {
            kind: 'failed',
            code: reading.code,
            message: `The reranker ${reading.problem}.`,
            latencyMs,
          };
        }
        scores.push(...reading.scores.map(({ index, score }) => ({ index: start + index, score })));
      }
      return rankCandidates(candidates, scores, latencyMs);
    },
    close: async () => api.close(),
  };
}
