/** A subsample in which every session had the same chance, so that plain counts of sessions need no weights. */

/** The sampled queries and sessions that had the same chance of being sampled. */
export interface ChanceGroup {
  /** In (0, 1]. */
  readonly chance: number;
  readonly queries: number;
  readonly sessions: number;
}

interface EqualChance {
  /** Sessions count whose draw is below this and below their own chance. */
  readonly chance: number;
  /** Queries that may be expected to count. */
  readonly queries: number;
}

/** Share of all traffic that may be counted with less than its weight for the sake of the rest. */
const TRIMMED_SHARE = 0.05;
/** No session stands for more than so many times the sessions that another stands for. */
const MAX_WEIGHT = 16;

/**
 * The chance at which traffic that was sampled at different rates is counted. The draws of sessions are uniform and
 * kept, so that those below a common chance are what sampling everything at it would have kept: their unweighted
 * means estimate those of all traffic, as weights of one over the chance do for the whole sample, and their count
 * is an honest number of independent votes.
 *
 * The common chance is the smallest one among the groups, except that groups of tiny chances are passed over while they
 * are less than 5 % of all traffic (estimated by Horvitz and Thompson), or would weigh more than 16 times as much as
 * the rest. A short burst at a tiny rate would otherwise throw away the evidence of the hours around it. The groups
 * that are passed over count for less than they are.
 *
 * @param most queries that may be expected to count; the chance is lowered until they fit
 * @returns null without groups
 */
export function equalChance(
  groups: readonly ChanceGroup[],
  most: number = Number.POSITIVE_INFINITY,
): EqualChance | null {
  const ordered = groups.toSorted((a, b) => a.chance - b.chance);
  const largest = ordered.at(-1)?.chance;
  if (largest === undefined) return null;
  const all = ordered.reduce((sum, { sessions, chance }) => sum + sessions / chance, 0);
  let below = 0;
  let chance = largest;
  for (const group of ordered) {
    below += group.sessions / group.chance;
    if (below <= TRIMMED_SHARE * all || group.chance * MAX_WEIGHT < largest) continue;
    chance = group.chance;
    break;
  }
  const expected = expectedQueries(ordered, chance);
  if (expected <= most) return { chance, queries: expected };
  // What is expected falls at least as fast as the chance once it is below all of theirs.
  let lowered = chance;
  while (expectedQueries(ordered, lowered) > most) lowered /= 2;
  return { chance: lowered, queries: expectedQueries(ordered, lowered) };
}

function expectedQueries(groups: readonly ChanceGroup[], chance: number): number {
  return groups.reduce((sum, group) => sum + group.queries * Math.min(1, chance / group.chance), 0);
}
