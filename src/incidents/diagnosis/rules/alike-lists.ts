/** Decides whether two result lists count as the same. */

/**
 * Minimum Jaccard similarity at which two result lists count as the same; a value below 1 allows for small variations
 * in a retriever's results.
 */
const SAME_ANSWER = 0.75;
/** Minimum share of the top documents that have the same rank in both lists. */
const SAME_PLACES = 0.5;
const FIRST_PLACES = 5;

export function isAlike(a: readonly string[], b: readonly string[]): boolean {
  if (a.length === 0 || b.length === 0) return a.length === b.length;
  const other = new Set(b);
  const common = a.filter((id) => other.has(id)).length;
  if (common / (a.length + b.length - common) < SAME_ANSWER) return false;
  const first = a.slice(0, FIRST_PLACES);
  return first.filter((id, place) => b[place] === id).length >= SAME_PLACES * first.length;
}
