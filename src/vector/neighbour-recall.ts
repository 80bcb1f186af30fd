/** How many of the true nearest neighbours an approximate index finds. */

export interface RankedSimilarity {
  readonly id: string;
  /** Cosine similarity, -1 to 1. */
  readonly similarity: number;
}

/** Beyond float32 rounding: neighbours that are equally near may stand in for each other. */
const TIE = 1e-6;

/**
 * Share of the exact neighbours that the approximate answer holds, 0..1. A neighbour that is as near as the last exact
 * one counts as found whatever its id, since which of several equals comes back is chance (the rule of the
 * ann-benchmarks project, Aumüller et al. 2020). Null when there is nothing to find.
 */
export function neighbourRecall(
  approximate: readonly RankedSimilarity[],
  exact: readonly RankedSimilarity[],
): number | null {
  if (exact.length === 0) return null;
  const furthest = Math.min(...exact.map(({ similarity }) => similarity));
  const ids = new Set(exact.map(({ id }) => id));
  const found = approximate.filter(({ id, similarity }) => ids.has(id) || similarity >= furthest - TIE);
  return Math.min(found.length, exact.length) / exact.length;
}
