/** Scores of a query from the grades of its top documents. */
import { evaluateRanking } from '../../math/ir/evaluate.ts';
import type { MetricKey } from '../../math/ir/metric-key.ts';

/** Highest grade. 0: off topic; 1: on topic; 2: answers the query in part; 3: answers the query. */
export const MAX_GRADE = 3;
/** Lowest grade that counts as relevant: the document contains at least part of the answer. */
export const RELEVANT_GRADE = 2;

/** Names of the scores, in the order of `judgedScores`. */
export const scoredMeasures = ['ndcg', 'precision', 'hit_rate', 'mrr'] as const;

export type ScoredMeasure = (typeof scoredMeasures)[number];

export type JudgedScores = Readonly<Record<ScoredMeasure, number>>;

/**
 * Computes the scores of one query from the grades of its top `depth` documents. The same rules apply as for golden
 * queries: grades of at least 2 are relevant, gains are linear, and precision divides by `depth` even if fewer
 * documents were returned. The ideal order of nDCG contains only graded documents; nDCG is 0 if all grades are 0.
 *
 * @param grades best document first, 0 to 3; empty for a failed or empty query, whose scores are 0
 * @param depth >= 1
 */
export function judgedScores(grades: readonly number[], depth: number): JudgedScores {
  const ranking = grades.slice(0, depth).map((_, rank) => `${rank}`);
  const judgments = new Map(ranking.map((id, rank) => [id, grades[rank] ?? 0]));
  const keys: MetricKey[] = scoredMeasures.map((measure) => ({ measure, k: depth }));
  const [ndcg = 0, precision = 0, hitRate = 0, mrr = 0] = evaluateRanking(ranking, judgments, keys, RELEVANT_GRADE);
  return { ndcg, precision, hit_rate: hitRate, mrr };
}
