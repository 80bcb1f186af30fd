/** Tracked feedback -> its item on the wire. */
import {
  InvalidField,
  MAX_SHORT_TEXT,
  MAX_TEXT,
  readCount,
  readIdentifier,
  readText,
  readTime,
  required,
} from './fields.ts';
import { type ClientRecord, createRecord } from './record.ts';
import type { TrackedFeedback } from './types.ts';

/** The kinds that the daemon knows. */
export const feedbackKinds: ReadonlySet<unknown> = new Set<TrackedFeedback['kind']>([
  'thumb',
  'rating',
  'click',
  'copy',
  'reformulation',
  'abandonment',
  'no_answer',
  'relevance',
]);

/** What the client adds to the words of the host. */
export interface FeedbackContext {
  readonly id: string;
  readonly pipeline: string | undefined;
  readonly now: number;
}

/** One item of `POST /v1/feedback`; throws InvalidField when a field cannot be used. */
export function createFeedbackRecord(
  feedback: Readonly<Record<string, unknown>>,
  context: FeedbackContext,
): ClientRecord {
  const kind = feedback['kind'];
  if (!feedbackKinds.has(kind))
    throw new InvalidField(`kind must be one of ${[...feedbackKinds].join(', ')}`);
  return createRecord({
    id: readIdentifier(feedback['id'], 'id') ?? context.id,
    query_id: required(readIdentifier(feedback['queryId'], 'queryId'), 'queryId'),
    pipeline: required(readIdentifier(feedback['pipeline'], 'pipeline') ?? context.pipeline, 'pipeline'),
    occurred_at: readTime(feedback['occurredAt'] ?? context.now, 'occurredAt'),
    kind,
    value: readValue(feedback['value']),
    document_id: readIdentifier(feedback['documentId'], 'documentId'),
    rank: readCount(feedback['rank'], 'rank'),
    user_id: readIdentifier(feedback['userId'], 'userId'),
    comment: readText(feedback['comment'], 'comment', MAX_TEXT),
  });
}

function readValue(value: unknown): number | boolean | string | undefined {
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (typeof value === 'number') throw new InvalidField('value must be finite');
  return readText(value, 'value', MAX_SHORT_TEXT);
}
