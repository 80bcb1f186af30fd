/** A shadow beside what users got, without any judgment. */
import { documentOf } from '../../golden/rules/score-run.ts';
import { rankBiasedOverlap } from '../../ir/ranking.ts';
import { type Interval, wilsonInterval } from '../../stats/intervals.ts';

const CONFIDENCE = 0.95;

export interface ListOverlap {
  /** Rank-biased overlap of the first k, 0 to 1. */
  readonly overlap: number;
  /** Whether any of the first k documents or their order differs. */
  readonly isChanged: boolean;
}

/**
 * @param separator cuts the ids of chunks; null takes ids as they are
 * @param k documents that a user gets, of each list as many as both have where one has fewer
 */
export function overlapOf(
  shown: readonly string[],
  shadow: readonly string[],
  separator: string | null,
  k: number,
): ListOverlap {
  const [ours, theirs] = [ranked(shown, separator).slice(0, k), ranked(shadow, separator).slice(0, k)];
  const isChanged = ours.length !== theirs.length || ours.some((id, place) => id !== theirs[place]);
  return { overlap: rankBiasedOverlap(ours, theirs, k), isChanged };
}

/** Each document at its first rank. */
function ranked(ids: readonly string[], separator: string | null): string[] {
  return [...new Set(separator === null ? ids : ids.map((id) => documentOf(id, separator)))];
}

export interface WeightedShare extends Interval {
  readonly value: number;
  /** Queries. */
  readonly n: number;
}

/** Sums over the live queries that were answered on both sides, each weighed by its inverse probability. */
export interface WeightedSums {
  readonly n: number;
  readonly weights: number;
  /** Sum over sessions of the square of their weights. */
  readonly squares: number;
}

/**
 * Mean over all live traffic of a value in [0, 1], by inverse probabilities (Hájek), with Wilson's 95 % bounds for as many
 * yes and no as there are effective sessions (Kish, (sum W)^2 / sum W^2): no variable on [0, 1] of this mean spreads more.
 *
 * @param sum of weight times value
 * @returns null without a query
 */
export function weightedShare({ n, weights, squares }: WeightedSums, sum: number): WeightedShare | null {
  if (n === 0 || weights === 0) return null;
  const value = Math.min(1, Math.max(0, sum / weights));
  const { low, high } = wilsonInterval(value, Math.max(1, weights ** 2 / squares), CONFIDENCE);
  return { value, low: Math.min(low, value), high: Math.max(high, value), n };
}
