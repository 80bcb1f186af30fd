/** Body of `POST /v1/feedback`: one item of it and its way to a Feedback. */
import { z } from 'zod';
import { identifier, shortText, text, timestamp } from '../../http/fields.ts';
import { type Feedback, feedbackKinds } from '../rules/live-query.ts';
import { type ParsedItems, parseItems } from './items.ts';

export const feedbackSchema = z.strictObject({
  id: identifier.optional().describe('Idempotency key; left out, it is derived from what the feedback says.'),
  query_id: identifier.describe('Id of the live query that it is about; the query may come later, or never.'),
  pipeline: identifier.describe('Pipeline of the config.'),
  kind: z.enum(feedbackKinds).describe('What the user did; the config says what each kind means.'),
  value: z
    .union([z.number(), z.boolean(), shortText])
    .optional()
    .describe(
      'thumb: true or false, up or down, 1 or -1; rating: a number on the scale of the config; relevance: a grade.',
    ),
  document_id: identifier.optional().describe('The document that was clicked, copied or judged.'),
  rank: z.int().min(1).max(10_000).optional().describe('Its rank when it was shown, from 1.'),
  occurred_at: timestamp.optional().describe('When the user did it; left out, when it was received.'),
  user_id: identifier.optional().describe('Stored as a keyed hash only.'),
  comment: text.optional().describe('Stored as the text of the query is.'),
});

export type FeedbackBody = z.infer<typeof feedbackSchema>;

/** Wire form -> core form. */
export function toFeedback(body: FeedbackBody): Feedback {
  return {
    id: body.id ?? null,
    queryId: body.query_id,
    pipeline: body.pipeline,
    kind: body.kind,
    value: body.value ?? null,
    documentId: body.document_id ?? null,
    rank: body.rank ?? null,
    occurredAt: body.occurred_at === undefined ? null : new Date(body.occurred_at),
    userId: body.user_id ?? null,
    comment: body.comment ?? null,
  };
}

/** The feedback of a body. @throws RecalldError body_unreadable */
export function readFeedback(body: unknown): ParsedItems<Feedback> {
  return parseItems(body, feedbackSchema, toFeedback);
}
