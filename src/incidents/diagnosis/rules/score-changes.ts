/**
 * Compares the scores that a retriever returned for the same query and document in two runs, and determines whether
 * the changed scores are concentrated on some documents or on some queries.
 */

/** A document that both runs returned for a query, with its scores. */
export interface KeptResult {
  readonly query: string;
  readonly document: string;
  readonly before: number;
  readonly now: number;
}

const MIN_RESULTS = 30;
/** A score is unchanged if it differs by at most this share of its size, or of the median size of all scores. */
const TOLERANCE = 0.05;

/**
 * @param depth number of ranks. Scores with at most this many distinct values only repeat the rank.
 * @returns null if there are too few results, or if scores only repeat the rank
 */
export function scoreChanges(kept: readonly KeptResult[], depth: number) {
  if (kept.length < MIN_RESULTS || new Set(kept.map(({ before }) => before)).size <= depth) return null;
  const sizes = kept.map(({ before }) => Math.abs(before)).toSorted((a, b) => a - b);
  const usual = sizes[Math.floor(sizes.length / 2)] ?? 0;
  const isChanged = kept.map(
    ({ before, now }) => Math.abs(now - before) > TOLERANCE * Math.max(Math.abs(before), usual),
  );
  return {
    results: kept.length,
    changed: isChanged.filter(Boolean).length / kept.length,
    /** How strongly the scores of the same query changed together; see `agreement`. */
    byQuery: agreement(
      kept.map(({ query }) => query),
      isChanged,
    ),
    /** How strongly the scores of the same document changed together; see `agreement`. */
    byDocument: agreement(
      kept.map(({ document }) => document),
      isChanged,
    ),
  };
}

const MIN_PAIRS = 30;

/**
 * Agreement within groups beyond chance (Scott's pi, 1955): (a - e) / (1 - e), where e = p^2 + (1 - p)^2. Here, p is
 * the share of members that changed, and a is the share of agreeing pairs among all pairs of members of the same group.
 * The agreement is 1 if each group changed as a whole or not at all, and about 0 if groups have no effect.
 *
 * @returns null if too few members share a group, or if all members agree
 */
function agreement(groups: readonly string[], isChanged: readonly boolean[]): number | null {
  const counts = new Map<string, { members: number; changed: number }>();
  for (const [at, group] of groups.entries()) {
    const count = counts.get(group) ?? { members: 0, changed: 0 };
    counts.set(group, { members: count.members + 1, changed: count.changed + Number(isChanged[at] ?? false) });
  }
  let [pairs, alike] = [0, 0];
  for (const { members, changed } of counts.values()) {
    pairs += pairsOf(members);
    alike += pairsOf(changed) + pairsOf(members - changed);
  }
  const share = isChanged.filter(Boolean).length / isChanged.length;
  const byChance = share ** 2 + (1 - share) ** 2;
  return pairs < MIN_PAIRS || byChance === 1 ? null : (alike / pairs - byChance) / (1 - byChance);
}

function pairsOf(members: number): number {
  return (members * (members - 1)) / 2;
}
