import { at, bearer, createJsonApi, type FailedCall } from '../../platform/outbound/json-api.ts';
import type { RerankerConfig } from '../retrievers/config.ts';

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
  | FailedCall;

/** Orders candidate texts by their relevance to a query. */
export interface Reranker {
  rerank(
    request: { readonly text: string; readonly candidates: readonly RerankCandidate[]; readonly k: number },
    signal: AbortSignal,
  ): Promise<RerankerAnswer>;
  /** Closes connections; absent if there are none. */
  close?(): Promise<void>;
}

/**
 * Creates a reranker. Candidates that do not fit into one batch are scored in several sequential calls. Candidates with
 * equal scores keep the order of the first stage.
 *
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
  const { batchSize, bodyOf, resultsIn, scoreKey } = protocolOf(config);
  return {
    async rerank({ text, candidates, k }, signal) {
      const scored: { readonly id: string; readonly score: number }[] = [];
      let latencyMs = 0;
      for (let start = 0; start < candidates.length; start += batchSize) {
        const batch = candidates.slice(start, start + batchSize);
        const texts = batch.map((candidate) => candidate.text);
        const body = bodyOf(text, texts, k);
        const answer = await api.call({ method: 'POST', path: config.path, body, purpose: 'reranking' }, signal);
        latencyMs += answer.latencyMs;
        if (answer.kind === 'failed') {
          return { kind: 'failed', code: answer.code, message: answer.message, latencyMs };
        }
        const reading = readScores(resultsIn(answer.json), scoreKey, batch.length);
        if (reading.kind === 'broken') {
          return { kind: 'failed', code: reading.code, message: `The reranker ${reading.problem}.`, latencyMs };
        }
        scored.push(
          ...batch.flatMap(({ id }, index) => {
            const score = reading.scores.get(index);
            return score === undefined ? [] : [{ id, score }];
          }),
        );
      }
      return { kind: 'ranking', documents: scored.toSorted((a, b) => b.score - a.score), latencyMs };
    },
    close: async () => api.close(),
  };
}

/**
 * Returns the parts of the protocol that differ between reranker APIs. `batchSize` is the maximum number of texts per
 * call. `scoreKey` is the key of the score in a result. In every API, the key `index` contains the position of the
 * text.
 */
function protocolOf(config: RerankerConfig) {
  switch (config.kind) {
    // The reranker in Hugging Face Text Embeddings Inference returns `[{index, score}]`.
    case 'tei':
      return {
        // The service's default limit, which its option `--max-client-batch-size` can change. Splitting the texts into
        // batches does not change their scores, because a cross-encoder scores each pair independently.
        batchSize: 32,
        bodyOf: (query: string, texts: readonly string[]) => ({ query, texts, truncate: true }),
        resultsIn: (json: unknown) => json,
        scoreKey: 'score',
      };
    // Cohere, Jina and vLLM return `{results: [{index, relevance_score}]}`.
    case 'cohere':
      return {
        batchSize: Number.POSITIVE_INFINITY,
        bodyOf: (query: string, documents: readonly string[], k: number) => ({
          model: config.model,
          query,
          documents,
          top_n: Math.min(k, documents.length),
        }),
        resultsIn: (json: unknown) => at(json, 'results'),
        scoreKey: 'relevance_score',
      };
  }
}

type ScoreReading =
  | { readonly kind: 'scores'; readonly scores: ReadonlyMap<number, number> }
  | { readonly kind: 'broken'; readonly code: string; readonly problem: string };

function broken(code: string, problem: string): ScoreReading {
  return { kind: 'broken', code, problem };
}

/**
 * Returns the scores, keyed by text index. Each result must have a finite number in `scoreKey` and the index of a text
 * in `index`; no two results may have the same index. Codes: `no_result_list`, `missing_index`, `missing_score`.
 */
function readScores(results: unknown, scoreKey: string, count: number): ScoreReading {
  if (!Array.isArray(results)) {
    return broken('no_result_list', 'returned no list of results; check retriever.reranker.url and path');
  }
  const scores = new Map<number, number>();
  for (const [place, result] of (results as unknown[]).entries()) {
    const [index, score] = [at(result, 'index'), at(result, scoreKey)];
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      return broken('missing_index', `returned result ${place} without a valid index (number of texts sent: ${count})`);
    }
    if (scores.has(index)) return broken('missing_index', `scored text ${index} twice`);
    if (typeof score !== 'number' || !Number.isFinite(score)) {
      return broken('missing_score', `returned result ${place} without ${scoreKey}`);
    }
    scores.set(index, score);
  }
  return { kind: 'scores', scores };
}
