/** A topic that users ask about but that the store does not cover, tracked over time. */

import { interval, percentage } from '../../core/format.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import { dotProduct } from '../../math/vector/matrix.ts';
import type { TopicCause } from './cause.ts';

export const topicStates = ['open', 'acknowledged', 'closed'] as const;

export type TopicState = (typeof topicStates)[number];

export interface TopicWindow {
  readonly windowEnd: Date;
  readonly sessions: number;
  /** Share of the traffic, 0 to 1. */
  readonly trafficShare: number;
  /** Share of the traffic minus its share in the baseline, in percentage points. */
  readonly excessPoints: number;
  readonly density: number;
}

export interface SeenTopic extends TopicWindow {
  /** Id of the known topic that matches, or a new id. */
  readonly id: string;
  readonly pipeline: string;
  readonly label: readonly string[];
  readonly centroid: Float64Array;
  readonly cause: TopicCause;
  /** Lower bound of the 95 % CI of `trafficShare`. */
  readonly shareLow: number;
  /** Upper bound of the 95 % CI of `trafficShare`. */
  readonly shareHigh: number;
  readonly adjustedP: number;
  readonly dominantRegion: number;
  /** Ids of live queries, most typical first. */
  readonly examples: readonly string[];
  /** Ids and cosines of the nearest chunks. */
  readonly nearest: readonly (readonly [string, number])[];
  /** Overrepresented segments, with their share of the topic, largest first. */
  readonly segments: readonly (readonly [string, number])[];
  /** Ids of chunks that similar baseline queries found and that are now missing from the store. */
  readonly lostChunks: readonly string[];
  /** Number of the topic's queries that are judged. */
  readonly judgedQueries: number;
  /** Share of relevant documents in the results of the judged queries; null if no query is judged. */
  readonly relevantShare: number | null;
}

export interface UncoveredTopic extends SeenTopic {
  readonly state: TopicState;
  readonly firstSeen: Date;
  /** Time at which the topic was last acknowledged or closed, by a user or by recalld; null if it never was. */
  readonly changedAt: Date | null;
  readonly note: string | null;
}

/** Name of a topic: its label, or its id if texts are not stored. */
export function topicName({ label, id }: { readonly label: readonly string[]; readonly id: string }): string {
  return label.length === 0 ? id : label.join(' ');
}

/**
 * Share of relevant documents in the results of the topic's judged queries, with Wilson's interval; null if no query is
 * judged.
 */
export function judgedRelevance({ judgedQueries, relevantShare }: SeenTopic) {
  if (relevantShare === null || judgedQueries === 0) return null;
  const share = Math.min(1, relevantShare);
  const { low: ciLow, high: ciHigh } = wilsonInterval(share, judgedQueries, 0.95);
  return { relevantShare: share, ciLow, ciHigh, n: judgedQueries };
}

export function describeJudgedRelevance(topic: SeenTopic): string | null {
  const judged = judgedRelevance(topic);
  if (judged === null) return null;
  const bounds = interval(judged.ciLow, judged.ciHigh, 'share');
  return `${percentage(judged.relevantShare)} of the documents in judged results are relevant (${bounds}, n = ${judged.n}).`;
}

export function topicAdvice({ cause, lostChunks }: SeenTopic): string {
  if (cause === 'new_demand')
    return 'Add documents that answer these queries. The nearest chunks below show what the store has instead.';
  return lostChunks.length > 0
    ? 'Chunks that similar queries previously found are missing from the store. Restore their documents.'
    : 'Similar queries were previously covered better, and none of the chunks that they found is known to be missing. Check whether the nearest chunks below answer these queries, and what changed in the index and the embedder.';
}

// Topics keep their identity between windows, so that they can be tracked, acknowledged and closed.

export interface KnownTopic {
  readonly id: string;
  /** Direction of length 1. */
  readonly centroid: Float64Array;
}

interface FoundTopic {
  /** Direction of length 1. */
  readonly centroid: Float64Array;
  /** Median cosine between the topic's queries and the centroid. */
  readonly cohesion: number;
}

export interface TopicMatch<Found extends FoundTopic> {
  readonly found: Found;
  /** Id of the matching known topic; null for a new topic. */
  readonly known: string | null;
}

/**
 * Minimum cosine between two centroids of the same topic. Two samples of one topic differ somewhat, but two topics in
 * one store are rarely this similar.
 */
const SAME_TOPIC = 0.8;

/**
 * Minimum cosine between a known topic and a found topic. The minimum is lower if the found topic is less cohesive, as
 * with sparse vectors. `mergeSimilar` in tail-clusters.ts merges clusters by a similar rule.
 */
function minSimilarity({ cohesion }: FoundTopic): number {
  return Math.min(SAME_TOPIC, cohesion);
}

/**
 * Matches found topics with known topics, best pairs first, each topic at most once. The cosine must be at least 0.8
 * or, if the found topic's cohesion is below 0.8, at least that cohesion. Centroids with different dimensions never
 * match, because they come from different models. The order of the found and the known topics does not affect the
 * matches.
 */
export function matchTopics<Found extends FoundTopic>(
  found: readonly Found[],
  known: readonly KnownTopic[],
): TopicMatch<Found>[] {
  const pairs = found
    .flatMap((one, index) =>
      known
        .map(({ id, centroid }) => ({ index, id, similarity: cosine(one.centroid, centroid) }))
        .filter(({ similarity }) => similarity >= minSimilarity(one)),
    )
    .toSorted((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1) || a.index - b.index);
  const matchOf = new Map<number, string>();
  const taken = new Set<string>();
  for (const { index, id } of pairs) {
    if (matchOf.has(index) || taken.has(id)) continue;
    matchOf.set(index, id);
    taken.add(id);
  }
  return found.map((one, index) => ({ found: one, known: matchOf.get(index) ?? null }));
}

/**
 * Finds known topics that an earlier search found separately but that are now part of one found topic: the cosine
 * between the two centroids is high enough for a match, but the known topic was not matched.
 *
 * @returns the index of the found topic, keyed by the id of the known topic
 */
export function absorbedTopics(
  matches: readonly TopicMatch<FoundTopic>[],
  known: readonly KnownTopic[],
): ReadonlyMap<string, number> {
  const matched = new Set(matches.map((match) => match.known));
  const absorbed = new Map<string, number>();
  for (const { id, centroid } of known) {
    if (matched.has(id)) continue;
    const [best] = matches
      .map(({ found }, index) => ({ index, found, similarity: cosine(found.centroid, centroid) }))
      .filter(({ found, similarity }) => similarity >= minSimilarity(found))
      .toSorted((a, b) => b.similarity - a.similarity || a.index - b.index);
    if (best !== undefined) absorbed.set(id, best.index);
  }
  return absorbed;
}

function cosine(a: Float64Array, b: Float64Array): number {
  if (a.length !== b.length) return -1;
  return dotProduct(a, b);
}
