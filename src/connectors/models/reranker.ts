import { at, bearer, createJsonApi, type JsonApi } from '../../platform/outbound/json-api.ts';
import type { RerankerConfig } from '../retrievers/config.ts';

type RerankerOf<Kind extends RerankerConfig['kind']> = Extract<RerankerConfig, { kind: Kind }>;

/** Default batch size of the service, which its option `--max-client-batch-size` can change. */
const BATCH_SIZE = 32;

/**
 * The reranker in Hugging Face Text Embeddings Inference.
 *
 * `POST {base}{path} {query, texts, truncate: true}` returns `[{index, score}]`. A cross-encoder scores each pair
 * independently, so candidates that exceed one batch are scored in several sequential calls.
 */
function createTeiReranker({ path }: RerankerOf<'tei'>, api: JsonApi): Reranker {
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

export interface RerankCandidate {
  readonly id: string;
  readonly text: string;
}

/** A failure is returned and never thrown; see RetrieverAnswer for `code` and `message`. */
export type RerankerAnswer =
  | {
      readonly kind: 'ranking';
      /** Every candidate with its score, best first. */
      readonly documents: readonly { readonly id: string; readonly score: number }[];
      readonly latencyMs: number;
    }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly latencyMs: number };

/** Orders candidate texts by their relevance to a query. */
export interface Reranker {
  rerank(
    request: { readonly text: string; readonly candidates: readonly RerankCandidate[]; readonly k: number },
    signal: AbortSignal,
  ): Promise<RerankerAnswer>;
  /** Closes connections; absent if there are none. */
  close?(): Promise<void>;
}

interface CandidateScore {
  /** Index in the candidate list, from 0. */
  readonly index: number;
  readonly score: number;
}

type ScoreReading =
  | { readonly kind: 'scores'; readonly scores: readonly CandidateScore[] }
  | { readonly kind: 'broken'; readonly code: string; readonly problem: string };

/**
 * Each result must name a different candidate by `index` and have a finite number in `scoreKey`. Codes:
 * `no_result_list`, `missing_index`, `missing_score`.
 */
function readScores(results: unknown, scoreKey: string, count: number): ScoreReading {
  if (!Array.isArray(results)) {
    const problem = 'returned no list of results; check retriever.reranker.url and path';
    return { kind: 'broken', code: 'no_result_list', problem };
  }
  const scores = new Map<number, CandidateScore>();
  for (const [place, result] of (results as unknown[]).entries()) {
    const [index, score] = [at(result, 'index'), at(result, scoreKey)];
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      const problem = `returned result ${place} without a valid index (${count} texts were sent)`;
      return { kind: 'broken', code: 'missing_index', problem };
    }
    if (scores.has(index)) {
      return { kind: 'broken', code: 'missing_index', problem: `scored text ${index} twice` };
    }
    if (typeof score !== 'number' || !Number.isFinite(score)) {
      return { kind: 'broken', code: 'missing_score', problem: `returned result ${place} without ${scoreKey}` };
    }
    scores.set(index, { index, score });
  }
  return { kind: 'scores', scores: [...scores.values()] };
}

/** Sorts the candidates by score, best first; candidates with equal scores keep the order of the first stage. */
function rankCandidates(
  candidates: readonly RerankCandidate[],
  scores: readonly CandidateScore[],
  latencyMs: number,
): RerankerAnswer {
  const documents = scores
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .flatMap(({ index, score }) => {
      const candidate = candidates[index];
      return candidate === undefined ? [] : [{ id: candidate.id, score }];
    });
  return { kind: 'ranking', documents, latencyMs };
}

/**
 * Cohere-compatible rerankers: Cohere, Jina, vLLM.
 *
 * `POST {base}{path} {model, query, documents, top_n}` returns `{results: [{index, relevance_score}]}`.
 */
function createCohereReranker({ path, model }: RerankerOf<'cohere'>, api: JsonApi): Reranker {
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

/**
 * @param configField path of its config section
 * @throws RecalldError config_invalid for an invalid address, header or TLS file
 */
export function createReranker(config: RerankerConfig, configField: string): Reranker {
  const api = createJsonApi(config, {
    service: 'The reranker',
    configField,
    credentials: bearer(config.api_key),
    credentialsKey: 'api_key',
  });
  switch (config.kind) {
    case 'tei':
      return createTeiReranker(config, api);
    case 'cohere':
      return createCohereReranker(config, api);
  }
}
