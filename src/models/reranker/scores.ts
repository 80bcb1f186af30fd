/** Reads what a reranking service answered: the place of a candidate and its score. */

import { at } from '../../outbound/json-value.ts';
import type { RerankCandidate, RerankerAnswer } from '../reranker.ts';

export interface CandidateScore {
  /** Place in the list of candidates, from 0. */
  readonly index: number;
  readonly score: number;
}

export type ScoreReading =
  | { readonly kind: 'scores'; readonly scores: readonly CandidateScore[] }
  | { readonly kind: 'broken'; readonly code: string; readonly problem: string };

/**
 * Each result must name a candidate by `index`, none twice, and give a finite number under `scoreKey`. Codes:
 * `no_result_list`, `missing_index`, `missing_score`.
 */
export function readScores(results: unknown, scoreKey: string, count: number): ScoreReading {
  if (!Array.isArray(results)) {
    const problem = 'answered no list of results; check retriever.reranker.url and path';
    return { kind: 'broken', code: 'no_result_list', problem };
  }
  const scores = new Map<number, CandidateScore>();
  for (const [place, result] of (results as unknown[]).entries()) {
    const [index, score] = [at(result, 'index'), at(result, scoreKey)];
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      const problem = `gave result ${place} without the index of one of ${count} texts`;
      return { kind: 'broken', code: 'missing_index', problem };
    }
    if (scores.has(index)) {
      return { kind: 'broken', code: 'missing_index', problem: `scored text ${index} twice` };
    }
    if (typeof score !== 'number' || !Number.isFinite(score)) {
      return { kind: 'broken', code: 'missing_score', problem: `gave result ${place} without ${scoreKey}` };
    }
    scores.set(index, { index, score });
  }
  return { kind: 'scores', scores: [...scores.values()] };
}

/** The candidates by score, best first; equal scores keep the order of the first stage. */
export function rankCandidates(
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
