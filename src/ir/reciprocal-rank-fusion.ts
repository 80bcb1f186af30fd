/** Joins rankings whose scores cannot be compared, such as those of words and of vectors. */

export interface FusedItem<Item> {
  /** As it stands in the first ranking that has it. */
  readonly item: Item;
  readonly score: number;
}

/**
 * Reciprocal rank fusion: the score of a document is the sum of 1 / (rankConstant + rank) over the rankings that have
 * it, with ranks from 1. Where a ranking holds an id more than once, the best place counts. Equal scores keep the
 * order of the rankings and of the places in them.
 *
 * Source: Cormack, Clarke, Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
 * methods", SIGIR 2009; their constant is 60.
 *
 * @returns every document of any ranking, best first
 */
export function reciprocalRankFusion<Item extends { readonly id: string }>(
  rankings: readonly (readonly Item[])[],
  rankConstant: number,
): FusedItem<Item>[] {
  const fused = new Map<string, { readonly item: Item; score: number }>();
  for (const ranking of rankings) {
    const seen = new Set<string>();
    for (const [index, item] of ranking.entries()) {
      if (seen.has(item.id)) continue;
      seen.add(item.id);
      const entry = fused.get(item.id) ?? { item, score: 0 };
      entry.score += 1 / (rankConstant + index + 1);
      fused.set(item.id, entry);
    }
  }
  return [...fused.values()].toSorted((a, b) => b.score - a.score);
}
