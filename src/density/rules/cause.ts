/** Why coverage changed: the density, the traffic, the golden queries and the canary read together. */

import { wilsonInterval } from '../../math/stats/intervals.ts';
import type { Matrix } from '../../math/vector/matrix.ts';
import { meanSimilarities, nearestNeighbours } from '../../math/vector/nearest-neighbours.ts';
import type { CanaryVerdict } from './measurement-change.ts';

/**
 * `embedding_changed`: another model; densities before and after cannot be compared. `content_gap`: people ask what the
 * store never held. `lost_content`: the store or the index lost something. `topic_mix`: other topics, all covered; no
 * action. `steady`: nothing changed.
 */
export type CoverageCause = 'embedding_changed' | 'content_gap' | 'lost_content' | 'topic_mix' | 'steady';

/** `high`: all signs agree. `medium`: most do. `low`: the signs that matter are unknown or contradict each other. */
type ReadingConfidence = 'high' | 'medium' | 'low';

export interface CauseReading {
  readonly cause: CoverageCause;
  /** Null when nothing fell, so that there is nothing to explain. */
  readonly confidence: ReadingConfidence | null;
  /** Whether the golden queries, which never change, bear it out; null when they say nothing of it. */
  readonly confirmed: boolean | null;
}

/**
 * Reads the signs together. A changed embedding takes precedence. When the density fell, golden queries that fell as
 * well point to the store, because their questions have not changed; otherwise changed traffic means a content gap.
 *
 * Unchanged traffic means lost content, unless the golden queries stand and no chunk is known to be missing. Then the
 * store answers as before, and the badly covered queries are new questions close to old ones, which the test of the
 * traffic cannot tell apart: a content gap too, with low confidence. Changed traffic at a steady density is a change of
 * the topic mix.
 */
export function readCause(signs: {
  /** The upper bound of the density of live queries is below the floor. */
  readonly densityFell: boolean;
  /** The questions changed: a test between baseline and live queries says so. */
  readonly trafficChanged: boolean;
  /** The golden queries are covered worse than before; null when there are none. */
  readonly goldenFell: boolean | null;
  /** Chunks that baseline queries found are gone from the store; null when nobody could look. */
  readonly chunksMissing: boolean | null;
  /** Null without a canary. */
  readonly canary: CanaryVerdict | null;
}): CauseReading {
  const { densityFell, trafficChanged, goldenFell, chunksMissing, canary } = signs;
  if (canary === 'changed') return { cause: 'embedding_changed', confidence: 'high', confirmed: true };
  if (!densityFell) return { cause: trafficChanged ? 'topic_mix' : 'steady', confidence: null, confirmed: null };
  if (goldenFell === true)
    return { cause: 'lost_content', confidence: trafficChanged ? 'medium' : 'high', confirmed: true };
  const goldenStands = goldenFell === null ? null : true;
  if (trafficChanged)
    return { cause: 'content_gap', confidence: goldenStands ? 'high' : 'medium', confirmed: goldenStands };
  if (goldenStands && chunksMissing !== true) return { cause: 'content_gap', confidence: 'low', confirmed: true };
  return {
    cause: 'lost_content',
    confidence: chunksMissing === true ? 'medium' : 'low',
    confirmed: goldenStands ? false : null,
  };
}

/** `new_demand`: nobody asked it in the baseline. `lost_content`: people asked it before and found it. */
export const topicCauses = ['new_demand', 'lost_content'] as const;

export type TopicCause = (typeof topicCauses)[number];

/**
 * Why the queries of one uncovered topic are badly covered: new demand when more than half of them are novel to the
 * baseline queries.
 *
 * @param familiarity of each member: mean cosine to its 10 nearest baseline queries; at least one
 * @param novelBelow the 5 % quantile of the same measure among the baseline queries themselves
 */
export function topicCause(familiarity: readonly number[], novelBelow: number): TopicCause {
  const novel = familiarity.filter((value) => value < novelBelow).length;
  return novel > familiarity.length / 2 ? 'new_demand' : 'lost_content';
}

// Whether live queries are like those of the baseline: new questions, or old ones that are covered worse.

/** Baseline queries that a query is compared with. */
const NEIGHBOURS = 10;
/** Baseline queries that tell how like each other they are. */
export const MIN_SAMPLED = NEIGHBOURS + 2;
const NOVEL_SHARE = 0.05;
const CONFIDENCE = 0.95;

/** Mean cosine of each query to its 10 nearest baseline queries. Takes 2 * queries * baseline * columns steps. */
export function familiarity(queries: Matrix, baseline: Matrix): Float64Array {
  return meanSimilarities(nearestNeighbours(baseline, queries, NEIGHBOURS), queries.rows);
}

/**
 * The 5 % quantile of the familiarity of the baseline queries with each other: a query below it is novel.
 *
 * @returns null with fewer than 12 queries
 */
export function novelBelow(baseline: Matrix): number | null {
  if (baseline.rows < MIN_SAMPLED) return null;
  const { k, indices, similarities } = nearestNeighbours(baseline, baseline, NEIGHBOURS + 1);
  const values = Float64Array.from({ length: baseline.rows }, (_, row) => {
    const own = similarities.subarray(row * k, (row + 1) * k);
    const itself = indices.subarray(row * k, (row + 1) * k).indexOf(row);
    const sum = own.reduce((total, similarity) => total + similarity, 0);
    // Among many copies of a query it may not be found itself; then a copy stands for it.
    return (sum - (own[Math.max(0, itself)] ?? 0)) / NEIGHBOURS;
  }).toSorted();
  return values[Math.floor(NOVEL_SHARE * values.length)] ?? null;
}

export type Novelty = ReturnType<typeof noveltyOf>;

/**
 * Whether what is uncovered is new. A topic that the store never held makes queries uncovered and novel alike; a loss
 * of content makes old questions uncovered, and other hours or other users make for other topics that are covered.
 *
 * @param values familiarity of one query of each session, at least one
 * @param uncoveredExcess share of traffic that is uncovered beyond the baseline, as `UncoveredShare` has it
 */
export function noveltyOf(values: ArrayLike<number>, threshold: number, uncoveredExcess: number) {
  let novel = 0;
  for (let i = 0; i < values.length; i++) if ((values[i] ?? 1) < threshold) novel++;
  const share = novel / values.length;
  const { low, high } = wilsonInterval(share, values.length, CONFIDENCE);
  const excess = (share - NOVEL_SHARE) / (1 - NOVEL_SHARE);
  return {
    queries: values.length,
    /** Of the queries; 0.05 as in the baseline. With 95 % bounds. */
    share,
    low,
    high,
    /** Whether new questions account for at least half of the traffic that is uncovered beyond the baseline. */
    explains: low > NOVEL_SHARE && excess >= uncoveredExcess / 2,
  };
}
