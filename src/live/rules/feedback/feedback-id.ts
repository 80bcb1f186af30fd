/** The identity of a feedback whose sender gave it none. */
import type { Feedback } from '../live-query.ts';

/**
 * A keyed hash such as HMAC-SHA-256, written in characters that an id may hold. Keyed, because the hashed text holds
 * the comment, which somebody could otherwise guess and confirm.
 */
type KeyedHash = (text: string) => string;

/** Separates these hashes from every other use of the same key. */
const DOMAIN = 'recalld/feedback-id/v1';

/**
 * The id of a feedback within its pipeline: the given one, else one derived from all that it says. Storing an id a
 * second time changes no count.
 *
 * - A retry sends the same words and so has the same id.
 * - A changed mind (thumb up, then down) has another value, so it is a new feedback. Which of them counts is decided
 *   when opinions are tallied (`OpinionTally`), not here.
 * - A mind that changed back (up, down, up) has a new id when its sender gives `occurred_at`. Without it, the third
 *   feedback has the id of the first and cannot be told from a retry of it: see `mayRepeat`.
 * - Values that mean the same in other spellings have other ids; as they are one opinion, they still count once.
 *
 * @param author the keyed hash of the user as it is stored, null for anonymous feedback
 */
export function feedbackId(feedback: Feedback, author: string | null, hash: KeyedHash): string {
  if (feedback.id !== null) return feedback.id;
  const { pipeline, queryId, kind, documentId, rank, value, comment } = feedback;
  const occurredAt = feedback.occurredAt?.toISOString() ?? null;
  // JSON keeps the parts apart whatever characters they hold, and the number 1 apart from the word.
  const parts = [DOMAIN, pipeline, queryId, kind, documentId, rank, author, value, occurredAt, comment];
  return `derived-${hash(JSON.stringify(parts))}`;
}

/**
 * How long after a feedback the same words without id and time are taken for a retry of it. Later ones are taken for
 * a mind that changed back: HTTP clients give up sooner, and who clicks twice within a minute sends a time or an id.
 */
export const FEEDBACK_RETRY_MS = 60_000;

/**
 * Whether the same words again, under the same id, may be a mind that changed back. The store then gives the first
 * feedback the time of the repeat, if that comes `FEEDBACK_RETRY_MS` or more after it, so that the last word counts.
 */
export function mayRepeat({ id, occurredAt }: Pick<Feedback, 'id' | 'occurredAt'>): boolean {
  return id === null && occurredAt === null;
}
