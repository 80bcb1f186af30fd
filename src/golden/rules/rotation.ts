/**
 * Computes the mean scores of two versions of a golden set in overlapping runs, and how much the thresholds of checks
 * must shift.
 */

import { type GoldenCheck, goldenCheckName, ofKind } from '../../checks/rules/golden-checks.ts';
import {
  type ComparedWithBaseline,
  differenceOn,
  isRegression,
  type RegressionCheck,
} from '../../checks/rules/regression.ts';
import type { CheckShift, CheckShifts } from '../../checks/rules/threshold.ts';
import { decimal, signed } from '../../core/format.ts';
import { ALL_SEGMENT, type GoldenQuery } from '../../core/model.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import { sharedQueries } from './compare-golden-runs.ts';
import type { SegmentScore } from './run.ts';

/** Scores of the completed runs of both versions at the same tick. */
export interface OverlapPair {
  readonly from: readonly SegmentScore[];
  readonly to: readonly SegmentScore[];
}

/** Mean of each metric for both versions, over all overlapping runs and queries; keyed by metric key. */
export type Levels = Readonly<Record<string, { readonly from: number; readonly to: number }>>;

/**
 * Returns the mean of each metric for each version, over all pairs and queries. Both versions ran on the same retriever
 * and store, so their means differ only because their queries and judgments differ.
 *
 * @returns an empty object if there is no pair
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

/** Returns the scores over all queries, keyed by metric key. */
export function byKey(scores: readonly SegmentScore[]): Map<string, SegmentScore> {
  const all = scores.filter(({ segment }) => segment === ALL_SEGMENT);
  return new Map(all.map((score) => [formatMetricKey(score), score]));
}

/**
 * Returns the queries of the new version. A query that the old version contains with the same id gets the text and the
 * judgments of the old version if its text is the same or was edited. The scores of the two versions then differ only
 * because of their queries. Returns null if no query changes.
 *
 * @param edited ids of the queries whose texts were edited or cut off
 */
export function restoredQueries(
  before: readonly GoldenQuery[],
  after: readonly GoldenQuery[],
  edited: ReadonlySet<string>,
): readonly GoldenQuery[] | null {
  const known = new Map(before.map((query) => [query.id, query]));
  const restored = after.map((query) => {
    const old = known.get(query.id);
    if (old === undefined || (old.text !== query.text && !edited.has(query.id))) return query;
    return { ...query, text: old.text, judgments: old.judgments };
  });
  return sharedQueries(after, restored).length === after.length ? null : restored;
}

export function describeLevels(levels: Levels, key: string): string {
  const level = levels[key];
  if (level === undefined) return 'The versions have no metric in common.';
  const difference = signed(level.to - level.from);
  return `At the scheduled times when runs of both versions completed, the mean ${key} was ${decimal(level.from)} for the old version and ${decimal(level.to)} for the new one (${difference}).`;
}

/**
 * Computes how much thresholds shift when the new version takes over.
 *
 * A score threshold shifts by the difference between the mean scores of the two versions, so that its distance from the
 * scores stays the same. A threshold for the upper bound of the interval shifts by the lower of two differences:
 * between the mean scores, and between the upper bounds. These differences may be unequal, because a larger set has a
 * narrower interval. With several overlapping runs, the lowest difference counts, so that the new threshold is not
 * stricter than the old one for any of these runs.
 *
 * A regression check shifts if the new version's difference from the baseline is lower than the old version's. The
 * shift is the new version's difference minus the old version's. In this calculation, a drop of the old version counts
 * as at most half of the drop that the check reports. A regression check does not shift if the old version showed a
 * regression. After the new version has taken over, the check therefore reports only a further drop. The new version
 * can score lower without a new drop, because the scores of the queries that it shares with the baseline may have
 * dropped more than those of the other queries.
 */
export function rotationShifts(
  checks: readonly GoldenCheck[],
  goldenSet: string,
  pairs: readonly OverlapPair[],
  from: ComparedWithBaseline | null,
  to: ComparedWithBaseline | null,
): CheckShifts {
  const nameOf = (check: GoldenCheck): string => goldenCheckName(check, goldenSet);
  const moved = [
    ...ofKind(checks, 'floor').map((check) => [nameOf(check), thresholdShift(check.measure, pairs)] as const),
    ...ofKind(checks, 'regression').map((check) => {
      const mean = regressionShift(check, from, to);
      return [nameOf(check), { mean, upper: mean }] as const;
    }),
  ];
  return Object.fromEntries(moved.filter(([, { mean, upper }]) => mean !== 0 || upper !== 0));
}

function regressionShift(
  check: RegressionCheck,
  from: ComparedWithBaseline | null,
  to: ComparedWithBaseline | null,
): number {
  const before = from === null ? null : differenceOn(check, from);
  const after = to === null ? null : differenceOn(check, to);
  if (after === null || (before !== null && isRegression(check, before))) return 0;
  return Math.min(0, after.difference - Math.max(before?.difference ?? 0, -check.drop / 2));
}

function thresholdShift(measure: string, pairs: readonly OverlapPair[]): CheckShift {
  const differences = pairs.flatMap((pair) => {
    const before = byKey(pair.from).get(measure);
    const after = byKey(pair.to).get(measure);
    if (before === undefined || after === undefined) return [];
    return [{ mean: after.mean - before.mean, upper: after.ciHigh - before.ciHigh }];
  });
  if (differences.length === 0) return { mean: 0, upper: 0 };
  const mean = Math.min(...differences.map((difference) => difference.mean));
  return { mean, upper: Math.min(mean, ...differences.map((difference) => difference.upper)) };
}
