/** What the grades of the best documents of a query come to. */
import { evaluateRanking } from '../../math/ir/evaluate.ts';
import type { MetricKey } from '../../math/ir/metric-key.ts';

/** Grades that a judge may give: off the subject, on the subject, answers in part, answers. */
export const MAX_GRADE = 3;
/** From this grade on a document counts as relevant: it holds an answer, or a part of one. */
export const RELEVANT_GRADE = 2;

/** In the order of `judgedScores`. */
export const scoredMeasures = ['ndcg', 'precision', 'hit_rate', 'mrr'] as const;

export type ScoredMeasure = (typeof scoredMeasures)[number];

export type JudgedScores = Readonly<Record<ScoredMeasure, number>>;

/**
 * Scores of one query by the grades of its best `depth` documents, as of a golden query that has these judgments:
 * relevant from grade 2 on, linear gains, precision over `depth` however few came back. The ideal order of nDCG is that of
 * the graded documents, since nobody graded any other; it is 0 where all grades are 0.
 *
 * @param grades best document first, 0 to 3; empty for a query that failed or found nothing: all scores are 0
 * @param depth >= 1
 */
export function judgedScores(grades: readonly number[], depth: number): JudgedScores {
  const ranking = grades.slice(0, depth).map((_, rank) => `${rank}`);
  const judgments = new Map(ranking.map((id, rank) => [id, grades[rank] ?? 0]));
  const keys: MetricKey[] = scoredMeasures.map((measure) => ({ measure, k: depth }));
  const [ndcg = 0, precision = 0, hitRate = 0, mrr = 0] = evaluateRanking(ranking, judgments, keys, RELEVANT_GRADE);
  return { ndcg, precision, hit_rate: hitRate, mrr };
}
