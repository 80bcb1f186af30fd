/** A new version of a golden set beside the old one: when it may take over, and what its level is. */
import { formatMetricKey } from '../../../ir/metric-key.ts';
import { ALL_SEGMENT } from '../../../model.ts';
import { signed } from '../../../text/number-text.ts';
import type { SegmentScore } from '../run.ts';

/** A completed run of each version for the same tick. */
export interface OverlapPair {
  readonly from: readonly SegmentScore[];
  readonly to: readonly SegmentScore[];
}

/** Mean of a metric over the overlap, by version. */
export interface LevelPair {
  readonly from: number;
  readonly to: number;
}

/** Levels by metric key, over all queries. */
export type Levels = Readonly<Record<string, LevelPair>>;

/**
 * The level of each version on the overlap: the mean over the pairs of each metric of all queries that both versions
 * have. A difference of levels is that of the questions, since retriever and store were the same.
 *
 * @returns nothing without a pair
 */
export function overlapLevels(pairs: readonly OverlapPair[]): Levels {
  const sums = new Map<string, { from: number; to: number; n: number }>();
  for (const { from, to } of pairs) {
    const after = byKey(to);
    for (const [key, score] of byKey(from)) {
      const other = after.get(key);
      if (other === undefined) continue;
      const sum = sums.get(key) ?? { from: 0, to: 0, n: 0 };
      sums.set(key, { from: sum.from + score.mean, to: sum.to + other.mean, n: sum.n + 1 });
    }
  }
  return Object.fromEntries([...sums].map(([key, { from, to, n }]) => [key, { from: from / n, to: to / n }]));
}

/** Scores of all queries by metric key. */
export function byKey(scores: readonly SegmentScore[]): Map<string, SegmentScore> {
  const all = scores.filter(({ segment }) => segment === ALL_SEGMENT);
  return new Map(all.map((score) => [formatMetricKey(score), score]));
}

/** One sentence with the levels of a metric, for the change event. */
export function describeLevels(levels: Levels, key: string): string {
  const level = levels[key];
  if (level === undefined) return 'The versions share no metric.';
  const difference = signed(level.to - level.from, 4);
  return `On the overlap ${key} was ${level.from.toFixed(4)} before and ${level.to.toFixed(4)} after (${difference}).`;
}
