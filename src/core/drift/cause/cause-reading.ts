/** Why coverage changed: the density, the traffic, the golden queries and the canary read together. */
import type { CanaryVerdict } from './canary.ts';

/**
 * `embedding_changed`: another model; densities before and after cannot be compared. `content_gap`: people ask what the
 * store never held. `lost_content`: the store or the index lost something. `topic_mix`: other topics, all covered; no
 * action. `steady`: nothing changed.
 */
export type CoverageCause = 'embedding_changed' | 'content_gap' | 'lost_content' | 'topic_mix' | 'steady';

export interface CoverageSigns {
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
}

/** `high`: all signs agree. `medium`: most do. `low`: the signs that matter are unknown or contradict each other. */
export type ReadingConfidence = 'high' | 'medium' | 'low';

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
export function readCause(signs: CoverageSigns): CauseReading {
  const { densityFell, trafficChanged, goldenFell, chunksMissing, canary } = signs;
  if (canary === 'changed') return { cause: 'embedding_changed', confidence: 'high', confirmed: true };
  if (!densityFell)
    return { cause: trafficChanged ? 'topic_mix' : 'steady', confidence: null, confirmed: null };
  if (goldenFell === true)
    return { cause: 'lost_content', confidence: trafficChanged ? 'medium' : 'high', confirmed: true };
  const goldenStands = goldenFell === null ? null : true;
  if (trafficChanged)
    return { cause: 'content_gap', confidence: goldenStands ? 'high' : 'medium', confirmed: goldenStands };
  if (goldenStands && chunksMissing !== true)
    return { cause: 'content_gap', confidence: 'low', confirmed: true };
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
