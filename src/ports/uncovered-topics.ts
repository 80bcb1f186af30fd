import type { KnownTopic } from '../core/drift/topics/topic-identity.ts';
import type {
  SeenTopic,
  TopicState,
  TopicWindow,
  UncoveredTopic,
} from '../core/drift/topics/uncovered-topic.ts';

/** One search for uncovered topics in the live queries of a pipeline. */
export interface TopicLook {
  readonly pipeline: string;
  /** Of the live queries: inclusive, and exclusive. */
  readonly from: Date;
  readonly until: Date;
  readonly baselineVersion: number;
  readonly sessions: number;
  /** What there was too little of; null when the search could be made. */
  readonly lacking: 'window_tail' | 'baseline_tail' | 'baseline_sample' | null;
}

/** What is known of the topics of a pipeline by its latest look. */
export interface LatestLook extends TopicLook {
  /** Topics that are not closed. */
  readonly unclosed: number;
}

/** Topics that people ask about and the store does not cover. */
export interface UncoveredTopics {
  /** Every topic of a pipeline that was ever seen and is no part of another, to match new ones with. */
  known(pipeline: string): Promise<readonly KnownTopic[]>;
  /** Of every pipeline that was ever looked at. */
  latestLooks(): Promise<readonly LatestLook[]>;
  /**
   * Keeps a look and what it showed, all or nothing. A closed topic is open again when it is seen in a period that
   * starts after its closing, or after it was last seen. An open one that is a part of another closes for good.
   *
   * @param showed `parts` has the id of the whole by the id of the part
   * @param after end of the latest look that it was made after; null for the first
   * @returns false when another worker's look came between; then nothing is stored
   */
  record(
    look: TopicLook,
    showed: { readonly seen: readonly SeenTopic[]; readonly parts: ReadonlyMap<string, string> },
    after: Date | null,
  ): Promise<boolean>;
  /** Closes open and acknowledged topics that were last seen before then. @returns how many */
  closeUnseen(pipeline: string, before: Date, now: Date): Promise<number>;
  /** Largest excess first. */
  list(filter: {
    readonly pipeline?: string;
    readonly states: readonly TopicState[];
    readonly limit: number;
  }): Promise<readonly UncoveredTopic[]>;
  find(id: string): Promise<UncoveredTopic | null>;
  /** Oldest first. */
  windows(id: string): Promise<readonly TopicWindow[]>;
  /** False when there is no such topic. */
  setState(id: string, state: TopicState, note: string | null, now: Date): Promise<boolean>;
  /** Texts of live queries that are still kept, by id. */
  texts(pipeline: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
