/** The review file: one question on each line, for a person to edit and for `golden import --format review`. */
import { z } from 'zod';
import type { ReviewItem, ReviewLineResult } from '../rules/review.ts';

const judgmentSchema = z.looseObject({
  document_id: z.string(),
  grade: z.int({ error: 'must be a whole number, or null for a document that is not judged' }).nullable(),
});

const originSchema = z.strictObject({
  kind: z.enum(['live', 'generated']),
  pipeline: z.string(),
  live_query_hash: z.string().nullable().default(null),
  user_hash: z.string().nullable().default(null),
  asked_at: z.iso.datetime().nullable().default(null),
  details: z.record(z.string(), z.unknown()).default({}),
});

const reviewLineSchema = z.looseObject({
  keep: z.boolean({ error: 'must be true or false' }),
  id: z.string(),
  text: z.string(),
  tags: z.record(z.string(), z.string()).default({}),
  judgments: z.array(judgmentSchema),
  origin: originSchema,
});

/** Reads one parsed JSON value of a review file. Never throws. */
export function parseReviewLine(value: unknown): ReviewLineResult {
  const result = reviewLineSchema.safeParse(value);
  if (!result.success) {
    const [issue] = result.error.issues;
    const field = issue?.path.join('.') ?? '';
    const problem =
      field === '' ? 'is no question of a review file' : `has a bad "${field}": ${issue?.message}`;
    return { ok: false, problem: `${problem}; keep the form that golden promote or golden generate wrote` };
  }
  const { keep, id, text, tags, judgments, origin } = result.data;
  return {
    ok: true,
    item: {
      keep,
      id,
      text,
      tags,
      judgments: judgments.map(({ document_id: documentId, grade }) => ({ documentId, grade })),
      origin: {
        kind: origin.kind,
        pipeline: origin.pipeline,
        liveQueryHash: origin.live_query_hash,
        userHash: origin.user_hash,
        askedAt: origin.asked_at === null ? null : new Date(origin.asked_at),
        details: origin.details,
      },
    },
  };
}

/** What stands beside a judgment to help the person. */
export type JudgmentNotes = Readonly<Record<string, string | number | null>>;

/** A line of a review file; `notes` are for people and are not read again. */
export function reviewLine(
  item: ReviewItem,
  notes: Readonly<Record<string, unknown>>,
  judgmentNotes: (documentId: string) => JudgmentNotes,
): string {
  const { keep, id, text, tags, judgments, origin } = item;
  return JSON.stringify({
    keep,
    id,
    text,
    tags,
    ...notes,
    judgments: judgments.map(({ documentId, grade }) => ({
      document_id: documentId,
      grade,
      ...judgmentNotes(documentId),
    })),
    origin: {
      kind: origin.kind,
      pipeline: origin.pipeline,
      live_query_hash: origin.liveQueryHash,
      user_hash: origin.userHash,
      asked_at: origin.askedAt?.toISOString() ?? null,
      details: origin.details,
    },
  });
}
