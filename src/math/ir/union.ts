/**
 * Scores the rankings of several steps that serve one query, such as the hops of a multi-hop question.
 *
 * union_recall@k  recall of the union of the top k documents of EVERY step, so a query with s steps can use up to
 *                 s * k documents
 * all_found@k     1 if union_recall@k = 1, else 0
 *
 * Every other measure scores one merged ranking: rank 1 of each step in step order, then rank 2 of each step, and so
 * on. A repeated document counts only at its first rank. For these measures, the cutoff k is a rank in the merged
 * ranking.
 */
import { createEvaluator, type GradeByDocument } from './evaluate.ts';
import { isUnionMeasure, type MetricKey } from './metric-key.ts';
import type { Ranking } from './ranking.ts';

/**
 * Creates an evaluator for queries with one or more steps. The evaluator returns one value per key, in the order of
 * `keys`. A ranking must not contain a document twice.
 *
 * @param relevanceLevel minimum grade of a relevant document, an integer >= 1
 */
export function createUnionEvaluator(keys: readonly MetricKey[], relevanceLevel: number) {
  const evaluate = createEvaluator(keys, relevanceLevel);
  const unionKeys = keys.flatMap((key, column) => (isUnionMeasure(key.measure) ? [{ key, column }] : []));
  const evaluateUnion = unionKeys.map(({ key }) => createEvaluator([{ ...key, k: null }], relevanceLevel));
  return (steps: readonly Ranking[], judgments: GradeByDocument): number[] => {
    const [only] = steps;
    if (only !== undefined && steps.length === 1) return evaluate(only, judgments);
    const values = evaluate(collapse(interleave(steps)), judgments);
    for (const [index, { key, column }] of unionKeys.entries()) {
      const union = collapse(steps.flatMap((ranking) => ranking.slice(0, key.k ?? ranking.length)));
      values[column] = evaluateUnion[index]?.(union, judgments)[0] ?? 0;
    }
    return values;
  };
}

/** Returns rank 1 of each step in step order, then rank 2 of each step, and so on. */
export function interleave<Item>(steps: readonly (readonly Item[])[]): Item[] {
  const longest = Math.max(0, ...steps.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => steps.flatMap((one) => one.slice(place, place + 1))).flat();
}

/** Keeps only the first occurrence of each document. Empty places are kept, because they occupy a rank. */
function collapse(ranking: Ranking): Ranking {
  const seen = new Set<string>();
  return ranking.filter((id) => {
    if (id === null) return true;
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}
