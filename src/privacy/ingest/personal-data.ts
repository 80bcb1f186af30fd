import type { Feedback, LiveQuery } from '../../live/rules/live-query.ts';

/** Keyed hashes of the session, else of the trace, else of the query, and of the user. */
export interface PeopleHashes {
  readonly sessionHash: string;
  readonly userHash: string | null;
}

/** At most one of the two is there. */
export interface PrivateText {
  readonly text: string | null;
  readonly textHash: string | null;
}

/** What is stored of a query in the place of what could tell who asked. */
export interface PrivateQuery extends PeopleHashes, PrivateText {
  readonly error: string | null;
}

export interface PrivateFeedback {
  readonly userHash: string | null;
  readonly comment: string | null;
}

/**
 * What is stored in the place of what could tell who asked: redacted, hashed with a key, or left out. What cannot be
 * made private is left out, and what is found by a service takes no longer than its timeout. Rejects with RecalldError
 * overloaded alone, when too many long texts wait: nothing is stored then.
 */
export interface PersonalData {
  ofPeople(query: Pick<LiveQuery, 'id' | 'traceId' | 'sessionId' | 'userId'>): PeopleHashes;
  ofText(text: string | null): Promise<PrivateText>;
  ofQuery(query: LiveQuery): Promise<PrivateQuery>;
  ofFeedback(feedback: Feedback): Promise<PrivateFeedback>;
  /** A keyed hash of any text. */
  hash(text: string): string;
}
