/** Tracked feedback as the client keeps it: a checked copy. */
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
import { estimateBytes } from './record-size.ts';
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

export interface FeedbackRecord {
  /** Estimate of what it takes, in memory and on the wire. */
  readonly bytes: number;
  readonly occurredAt: number;
  /** The other fields, under their names on the wire. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What the client adds to the words of the host. */
export interface FeedbackContext {
  readonly id: string;
  readonly pipeline: string | undefined;
  readonly now: number;
}

/** Copies and checks feedback; throws InvalidField when a field cannot be used. */
export function copyFeedback(
  feedback: Readonly<Record<string, unknown>>,
  context: FeedbackContext,
): FeedbackRecord {
  const kind = feedback['kind'];
  if (!feedbackKinds.has(kind)) throw new InvalidField(`kind must be one of ${[...feedbackKinds].join(', ')}`);
  const fields = {
    id: readIdentifier(feedback['id'], 'id') ?? context.id,
    query_id: required(readIdentifier(feedback['queryId'], 'queryId'), 'queryId'),
    pipeline: required(readIdentifier(feedback['pipeline'], 'pipeline') ?? context.pipeline, 'pipeline'),
    kind,
    value: readValue(feedback['value']),
    document_id: readIdentifier(feedback['documentId'], 'documentId'),
    rank: readCount(feedback['rank'], 'rank'),
    user_id: readIdentifier(feedback['userId'], 'userId'),
    comment: readText(feedback['comment'], 'comment', MAX_TEXT),
  };
  return {
    bytes: estimateBytes(fields),
    occurredAt: readTime(feedback['occurredAt'], 'occurredAt') ?? context.now,
    fields,
  };
}

/** The record as one item of `POST /v1/feedback`. */
export function feedbackToJson({ fields, occurredAt }: FeedbackRecord): string {
  return JSON.stringify({ ...fields, occurred_at: new Date(occurredAt).toISOString() });
}

function readValue(value: unknown): number | boolean | string | undefined {
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (typeof value === 'number') throw new InvalidField('value must be finite');
  return readText(value, 'value', MAX_SHORT_TEXT);
}
