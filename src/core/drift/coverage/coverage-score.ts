/** How well the store covers a query, from the similarities of the chunks that a search for it found. */

/** One chunk of a search result. */
export interface FoundChunk {
  /** Names the content, so that copies count once: a hash of it, or the chunk's id when there is none. */
  readonly content: string;
  /** Cosine to the query. */
  readonly similarity: number;
}

/** The score of a query for which the store returned nothing. */
export const NOTHING_FOUND = -1;

/** A cosine may leave [-1, 1] by the rounding of float32. */
const ROUNDING = 1e-4;

/**
 * Mean cosine of the query to its k best distinct chunks, rho. Fewer chunks: the mean of those; none: -1.
 *
 * Null when a similarity is not a cosine (not finite, or outside of [-1, 1]): such a score is a distance, or the dot
 * product of vectors that are not scaled to length 1, and cannot be compared.
 */
export function coverageScore(found: readonly FoundChunk[], k: number): number | null {
  const best = new Map<string, number>();
  for (const { content, similarity } of found) {
    if (!(Math.abs(similarity) <= 1 + ROUNDING)) return null;
    best.set(content, Math.max(similarity, best.get(content) ?? NOTHING_FOUND));
  }
  if (best.size === 0) return NOTHING_FOUND;
  const top = [...best.values()].toSorted((a, b) => b - a).slice(0, k);
  return top.reduce((sum, similarity) => sum + similarity, 0) / top.length;
}
