/** A topic that people ask about and the store does not cover, as it is followed over time. */

import { percentage } from '../../core/format.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import { dotProduct } from '../../math/vector/matrix.ts';
import type { TopicCause } from './cause.ts';

export const topicStates = ['open', 'acknowledged', 'closed'] as const;

export type TopicState = (typeof topicStates)[number];

/** How a topic stood in one window. */
export interface TopicWindow {
  readonly windowEnd: Date;
  /** Sessions of the topic. */
  readonly sessions: number;
  /** Of the traffic, 0..1. */
  readonly trafficShare: number;
  /** Percentage points of traffic beyond what the baseline has. */
  readonly excessPoints: number;
  readonly density: number;
}

/** A topic as a search in the latest window found it. */
export interface SeenTopic extends TopicWindow {
  /** Id of the known topic that it was matched with, or a new id. */
  readonly id: string;
  readonly pipeline: string;
  readonly label: readonly string[];
  readonly centroid: Float64Array;
  readonly cause: TopicCause;
  /** 95 % bounds of `trafficShare`. */
  readonly shareLow: number;
  readonly shareHigh: number;
  readonly adjustedP: number;
  readonly dominantRegion: number;
  /** Ids of live queries, the most typical first. */
  readonly examples: readonly string[];
  /** Ids and cosines of the chunks that came nearest. */
  readonly nearest: readonly (readonly [string, number])[];
  /** Segments that have more of the topic than of the traffic, with their share of the topic, largest first. */
  readonly segments: readonly (readonly [string, number])[];
  /** Ids of chunks that baseline queries like it found and that the store no longer holds. */
  readonly lostChunks: readonly string[];
  /** Its queries that were judged, and the share of what they got that holds an answer; null when none was. */
  readonly judgedQueries: number;
  readonly relevantShare: number | null;
}

export interface UncoveredTopic extends SeenTopic {
  readonly state: TopicState;
  readonly firstSeen: Date;
  /** When somebody acknowledged or closed it, or it closed by itself; null when nobody did. */
  readonly changedAt: Date | null;
  readonly note: string | null;
}

/** What to call a topic: its label, or its id where no texts are kept. */
export function topicName({ label, id }: Pick<UncoveredTopic, 'label' | 'id'>): string {
  return label.length === 0 ? id : label.join(' ');
}

/** The share of documents with an answer among what its judged queries got, with Wilson's bounds over these; null without. */
export function judgedRelevance({
  judgedQueries,
  relevantShare,
}: Pick<UncoveredTopic, 'judgedQueries' | 'relevantShare'>) {
  if (relevantShare === null || judgedQueries === 0) return null;
  const share = Math.min(1, relevantShare);
  const { low: ciLow, high: ciHigh } = wilsonInterval(share, judgedQueries, 0.95);
  return { relevantShare: share, ciLow, ciHigh, n: judgedQueries };
}

/** Null where none was judged. */
export function judgedInWords(topic: Pick<UncoveredTopic, 'judgedQueries' | 'relevantShare'>): string | null {
  const judged = judgedRelevance(topic);
  if (judged === null) return null;
  const bounds = `95 % ${percentage(judged.ciLow)} to ${percentage(judged.ciHigh)}`;
  return `Of what its judged queries got, ${percentage(judged.relevantShare)} holds an answer (${bounds}, n = ${judged.n}).`;
}

/** What to do about a topic, by what was seen of it: documents are brought back where some are known to be gone. */
export function topicAdvice({ cause, lostChunks }: Pick<UncoveredTopic, 'cause' | 'lostChunks'>): string {
  if (cause === 'new_demand')
    return 'Add documents that answer these questions; the nearest chunks below show what the store has instead.';
  return lostChunks.length > 0
    ? 'Chunks that answered questions like these are gone from the store: bring their documents back.'
    : 'Questions like these were asked before and covered better. No chunk of theirs is known to be gone: see whether the nearest chunks below answer them, and what changed in the index and the embedder.';
}

// Uncovered topics keep their identity from window to window, so that one can be followed, acknowledged and closed.

export interface KnownTopic {
  readonly id: string;
  /** Direction of length 1. */
  readonly centroid: Float64Array;
}

interface FoundTopic {
  /** Direction of length 1. */
  readonly centroid: Float64Array;
  /** Median cosine of its queries to the centroid. */
  readonly cohesion: number;
}

export interface TopicMatch<Found extends FoundTopic> {
  readonly found: Found;
  /** Null: it is new. */
  readonly known: string | null;
  /** Cosine to the known topic; null for a new one. */
  readonly similarity: number | null;
}

/** Two finds of one topic differ by their samples; two topics of one store rarely come this close. */
const SAME_TOPIC = 0.8;

/**
 * The cosine from which a known topic is the same as a found one. Where the queries of a topic are less like each other
 * than `SAME_TOPIC`, as sparse vectors are, their own cohesion is enough, by the rule that merges clusters of one search.
 */
function leastSimilarity({ cohesion }: FoundTopic): number {
  return Math.min(SAME_TOPIC, cohesion);
}

/**
 * Matches found topics with known ones, the best pair first and each topic at most once. The cosine must be at least
 * 0.8, or the cohesion of the found topic where that is less. Centroids of different dimensions never match, since they
 * come from different models. The result does not depend on the order of either side.
 */
export function matchTopics<Found extends FoundTopic>(
  found: readonly Found[],
  known: readonly KnownTopic[],
): TopicMatch<Found>[] {
  const pairs = found
    .flatMap((one, index) =>
      known
        .map(({ id, centroid }) => ({ index, id, similarity: cosine(one.centroid, centroid) }))
        .filter(({ similarity }) => similarity >= leastSimilarity(one)),
    )
    .toSorted((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1) || a.index - b.index);
  const matchOf = new Map<number, { readonly id: string; readonly similarity: number }>();
  const taken = new Set<string>();
  for (const { index, id, similarity } of pairs) {
    if (matchOf.has(index) || taken.has(id)) continue;
    matchOf.set(index, { id, similarity });
    taken.add(id);
  }
  return found.map((one, index) => {
    const match = matchOf.get(index);
    return { found: one, known: match?.id ?? null, similarity: match?.similarity ?? null };
  });
}

/**
 * Known topics that this search did not find by themselves, but that are parts of a topic that it did find: they are as
 * close to it as its own queries are. An earlier search had kept them apart.
 *
 * @returns the index of the found topic by the id of the known one
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
      .filter(({ found, similarity }) => similarity >= leastSimilarity(found))
      .toSorted((a, b) => b.similarity - a.similarity || a.index - b.index);
    if (best !== undefined) absorbed.set(id, best.index);
  }
  return absorbed;
}

function cosine(a: Float64Array, b: Float64Array): number {
  if (a.length !== b.length) return -1;
  return dotProduct(a, b);
}
