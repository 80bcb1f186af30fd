/** Rerankers that speak as Cohere does: Cohere, Jina, vLLM. */

import type { JsonApi } from '../../outbound/json-api.ts';
import { at } from '../../outbound/json-value.ts';
import type { Reranker } from '../reranker.ts';
import { rankCandidates, readScores } from './scores.ts';

export interface CohereRerankerSettings {
  readonly api: JsonApi;
  /** `/v2/rerank` for Cohere and vLLM, `/v1/rerank` for Jina. */
  readonly path: string;
  readonly model: string;
}

/** `POST {base}{path} {model, query, documents, top_n}`; it answers `{results: [{index, relevance_score}]}`. */
export function createCohereReranker({ api, path, model }: CohereRerankerSettings): Reranker {
  return {
    async rerank({ text, candidates, k }, signal) {
      const body = {
        model,
        query: text,
        documents: candidates.map((candidate) => candidate.text),
        top_n: Math.min(k, candidates.length),
      };
      const answer = await api.call({ method: 'POST', path, body, purpose: 'reranking' }, signal);
      const { latencyMs } = answer;
      if (answer.kind === 'failed') {
        return { kind: 'failed', code: answer.code, message: answer.message, latencyMs };
      }
      const reading = readScores(at(answer.json, 'results'), 'relevance_score', candidates.length);
      if (reading.kind === 'broken') {
        return { kind: 'failed', code: reading.code, message: `The reranker ${reading.problem}.`, latencyMs };
      }
      return rankCandidates(candidates, reading.scores, latencyMs);
    },
    close: async () => api.close(),
  };
}
