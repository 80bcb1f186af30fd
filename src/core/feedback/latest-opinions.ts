/** What users think in the end, out of all that they said. */
import type { FeedbackKind } from '../live/live-query.ts';

/** What tells opinions apart: one user has one opinion of each kind on a query, or on each of its documents. */
export interface OpinionSubject {
  readonly pipeline: string;
  readonly queryId: string;
  readonly kind: FeedbackKind;
  readonly documentId: string | null;
  /** From 1; names the document where its id is not known. */
  readonly rank: number | null;
  /** The keyed hash of the user; null for anonymous feedback, which on one query is taken to be one user's. */
  readonly author: string | null;
}

/** A stored feedback, as far as later ones supersede it. */
export interface OpinionFeedback extends OpinionSubject {
  readonly id: string;
  /** When the user gave it; the time of receipt where the sender did not say. */
  readonly occurredAt: Date;
  readonly receivedAt: Date;
  /** Whether it was within the cap of its user when it came. */
  readonly isCounted: boolean;
}

/** A text that is equal for two feedbacks if and only if the later one supersedes the earlier one. */
export function opinionKey({ pipeline, queryId, kind, documentId, rank, author }: OpinionSubject): string {
  return JSON.stringify([pipeline, queryId, kind, documentId, documentId === null ? rank : null, author]);
}

/**
 * The latest feedback of each opinion, in the order of the list; it stands for all of them. Latest is what occurred
 * last, then what was received last, then the greater id, so that the order of the list does not matter.
 *
 * An opinion is counted iff any of its feedbacks is. A user who changes their mind beyond the cap still has the last
 * word on what was counted before, while changing it often counts no more than once.
 *
 * @param list feedback of the window in question; an opinion that changed after it is what it was then
 */
export function latestOpinions<T extends OpinionFeedback>(list: readonly T[]): T[] {
  const latest = new Map<string, { feedback: T; isCounted: boolean }>();
  for (const feedback of list) {
    const key = opinionKey(feedback);
    const known = latest.get(key);
    if (known === undefined) {
      latest.set(key, { feedback, isCounted: feedback.isCounted });
      continue;
    }
    if (isLater(feedback, known.feedback)) known.feedback = feedback;
    known.isCounted ||= feedback.isCounted;
  }
  return [...latest.values()].map(({ feedback, isCounted }) => ({ ...feedback, isCounted }));
}

function isLater(a: OpinionFeedback, b: OpinionFeedback): boolean {
  const occurred = a.occurredAt.getTime() - b.occurredAt.getTime();
  if (occurred !== 0) return occurred > 0;
  const received = a.receivedAt.getTime() - b.receivedAt.getTime();
  return received === 0 ? a.id > b.id : received > 0;
}
