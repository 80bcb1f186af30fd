/** Infers the cause of a drop in density from traffic, golden queries and missing chunks together. */

import { wilsonInterval } from '../../math/stats/intervals.ts';
import type { Matrix } from '../../math/vector/matrix.ts';
import { meanSimilarities, nearestNeighbours } from '../../math/vector/nearest-neighbours.ts';

/**
 * `content_gap`: users ask for content that the store never had. `lost_content`: the store or the index lost content.
 */
export type CoverageCause = 'content_gap' | 'lost_content';

/** `high`: all signs agree. `medium`: most do. `low`: the decisive signs are unknown or contradictory. */
type ReadingConfidence = 'high' | 'medium' | 'low';

export interface CauseReading {
  readonly cause: CoverageCause;
  readonly confidence: ReadingConfidence;
  /** True if golden scores confirm the cause; false if they contradict it; null if unknown. */
  readonly confirmed: boolean | null;
}

/**
 * Combines the signs of a drop in density. If golden scores dropped too, the store is at fault, because golden queries
 * never change. If golden scores did not drop and traffic changed, there is a content gap.
 *
 * If traffic did not change, content was lost, with one exception: if golden scores are unchanged and no chunk is known
 * to be missing, the store works as before. The poorly covered queries are then probably new, but too similar to
 * earlier queries for the traffic test to detect them. In that case, the cause is also a content gap, with low
 * confidence.
 */
export function readCause(signs: {
  readonly trafficChanged: boolean;
  /** True if the scores of golden queries dropped; null if there are no golden queries. */
  readonly goldenDropped: boolean | null;
  /** True if chunks that baseline queries found are missing from the store; null if unknown. */
  readonly chunksMissing: boolean | null;
}): CauseReading {
  const { trafficChanged, goldenDropped, chunksMissing } = signs;
  if (goldenDropped === true)
    return { cause: 'lost_content', confidence: trafficChanged ? 'medium' : 'high', confirmed: true };
  const goldenUnchanged = goldenDropped === null ? null : true;
  if (trafficChanged)
    return { cause: 'content_gap', confidence: goldenUnchanged ? 'high' : 'medium', confirmed: goldenUnchanged };
  if (goldenUnchanged && chunksMissing !== true) return { cause: 'content_gap', confidence: 'low', confirmed: true };
  return {
    cause: 'lost_content',
    confidence: chunksMissing === true ? 'medium' : 'low',
    confirmed: goldenUnchanged ? false : null,
  };
}

/**
 * `new_demand`: users did not ask about the topic during the baseline. `lost_content`: users asked about the topic
 * during the baseline, and the store covered it.
 */
export const topicCauses = ['new_demand', 'lost_content'] as const;

export type TopicCause = (typeof topicCauses)[number];

/**
 * Cause of an uncovered topic: new demand if more than half of its queries are novel relative to the baseline.
 *
 * @param familiarity mean cosine of each member to its 10 nearest baseline queries; at least one member
 * @param novelBelow the 5 % quantile of familiarity among the baseline queries
 */
export function topicCause(familiarity: readonly number[], novelBelow: number): TopicCause {
  const novel = familiarity.filter((value) => value < novelBelow).length;
  return novel > familiarity.length / 2 ? 'new_demand' : 'lost_content';
}

/** Number of nearest baseline queries with which a query is compared. */
const NEIGHBOURS = 10;
export const MIN_SAMPLED = NEIGHBOURS + 2;
const NOVEL_SHARE = 0.05;
const CONFIDENCE = 0.95;

/**
 * Returns the mean cosine of each query to its 10 nearest baseline queries. Takes 2 * queries * baseline * columns
 * operations.
 */
export function familiarity(queries: Matrix, baseline: Matrix): Float64Array {
  return meanSimilarities(nearestNeighbours(baseline, queries, NEIGHBOURS), queries.rows);
}

/**
 * Returns the 5 % quantile of familiarity among the baseline queries; a query below it is novel. Null if there are
 * fewer than 12 baseline queries.
 */
export function novelBelow(baseline: Matrix): number | null {
  if (baseline.rows < MIN_SAMPLED) return null;
  const { k, indices, similarities } = nearestNeighbours(baseline, baseline, NEIGHBOURS + 1);
  const values = Float64Array.from({ length: baseline.rows }, (_, row) => {
    const own = similarities.subarray(row * k, (row + 1) * k);
    const itself = indices.subarray(row * k, (row + 1) * k).indexOf(row);
    const sum = own.reduce((total, similarity) => total + similarity, 0);
    // If a query has many duplicates, the search may return duplicates but not the query itself. In that case, one
    // duplicate is excluded instead of the query.
    return (sum - (own[Math.max(0, itself)] ?? 0)) / NEIGHBOURS;
  }).toSorted();
  return values[Math.floor(NOVEL_SHARE * values.length)] ?? null;
}

export type Novelty = ReturnType<typeof noveltyOf>;

/**
 * Tests whether uncovered queries are new. If the store never had the content, queries are both uncovered and novel. If
 * content was lost, queries that were already known become uncovered. Queries from other hours or other users can also
 * be new, but the store covers such queries.
 *
 * @param values familiarity of one query per session; at least one value
 * @param uncoveredExcess share of traffic that is uncovered in excess of the baseline (see `UncoveredShare`)
 */
export function noveltyOf(values: ArrayLike<number>, threshold: number, uncoveredExcess: number) {
  let novel = 0;
  for (let i = 0; i < values.length; i++) if ((values[i] ?? 1) < threshold) novel++;
  const share = novel / values.length;
  const { low, high } = wilsonInterval(share, values.length, CONFIDENCE);
  const excess = (share - NOVEL_SHARE) / (1 - NOVEL_SHARE);
  return {
    queries: values.length,
    /** Share of novel queries, with a 95 % CI; 0.05 in the baseline. */
    share,
    low,
    high,
    /** True if novel queries explain at least half of the increase in the share of uncovered traffic. */
    explains: low > NOVEL_SHARE && excess >= uncoveredExcess / 2,
  };
}
