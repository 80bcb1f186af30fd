/** A topic that people ask about and the store does not cover, as it is followed over time. */
import type { TopicCause } from '../cause/cause-reading.ts';

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

/** A topic as a look at the latest window found it. */
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
