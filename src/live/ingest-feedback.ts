/**
 * Ingests feedback: validates and anonymizes it, applies the caps, and stores it. The query that the feedback refers to
 * may already be stored, may not have been sampled, or may arrive later.
 */

import type { Context } from '../core/context.ts';
import type { Rejection } from '../core/errors.ts';
import type { LivePipeline } from './ingest-queries.ts';
import type { FeedbackTarget } from './recent-queries.ts';
import { feedbackId, mayRepeat, type SentimentReading, sentimentOf } from './rules/feedback/sentiment.ts';
import { capDays, type FeedbackCaps, withinCaps } from './rules/feedback/user-cap.ts';
import { checkOccurredAt, type Feedback, unknownPipeline } from './rules/live-query.ts';
import type { TracedFeedback } from './rules/otel/feedback.ts';
import type { StoredFeedback } from './sql/feedback-rows.ts';
import type { LiveTraffic } from './sql/live-traffic.ts';

type FeedbackPipeline = Pick<LivePipeline, 'feedback' | 'limits' | 'personalData'>;

/**
 * @param live pipelines that the sender may use, keyed by name
 * @param promote samples a recent query that received negative feedback
 * @throws RecalldError database_unreachable if nothing was stored; the client may send the batch again
 */
export async function ingestFeedback(
  { db, clock, meter }: Context,
  live: Pick<ReadonlyMap<string, FeedbackPipeline>, 'get'>,
  promote: (target: FeedbackTarget) => Promise<void>,
  feedback: readonly (Feedback | TracedFeedback)[],
) {
  const { traffic } = db.live;
  const now = clock.now();
  const rejected: (Rejection & { index: number })[] = [];
  const pending: Promise<UncappedRow>[] = [];
  for (const [index, item] of feedback.entries()) {
    const outcome = interpret(live.get(item.pipeline), item, now);
    if ('code' in outcome) rejected.push({ index, ...outcome });
    else pending.push(toRow(item, outcome.reading, outcome.pipeline, now));
  }
  const rows = await applyCaps(traffic, await Promise.all(pending));
  const { isNew } = rows.length === 0 ? { isNew: [] } : await traffic.recordFeedback(rows);
  const promotions: Promise<void>[] = [];
  for (const [position, row] of rows.entries()) {
    const { pipeline, kind, sentiment } = row;
    if (isNew[position] === true) {
      meter.increment('recalld_feedback_total', { pipeline, kind, sentiment });
    }
    // Runs the promotions concurrently, because each may wait for the redaction service. Repeated feedback promotes its
    // query again, because the first promotion may have failed.
    if (sentiment === 'negative') promotions.push(promote(row));
  }
  await Promise.all(promotions);
  const accepted = isNew.filter(Boolean).length;
  return {
    /** Number of new, valid feedback items, including items beyond the user's cap. */
    accepted,
    duplicates: rows.length - accepted,
    rejected,
  };
}

type UncappedRow = Awaited<ReturnType<typeof toRow>>;

function interpret(
  pipeline: FeedbackPipeline | undefined,
  feedback: Feedback | TracedFeedback,
  now: Date,
): { readonly pipeline: FeedbackPipeline; readonly reading: SentimentReading } | Rejection {
  if (pipeline === undefined) return unknownPipeline(feedback.pipeline);
  const timing = checkOccurredAt(feedback.occurredAt, pipeline.limits.retentionDays, now);
  if (timing !== null) return timing;
  const reading = sentimentOf(feedback, pipeline.feedback);
  if (reading.kind === 'refused') return { code: 'invalid_field', message: reading.message };
  return { pipeline, reading };
}

/** Creates the row of a feedback item. Never rejects. */
async function toRow(
  feedback: Feedback | TracedFeedback,
  reading: SentimentReading,
  { personalData, feedback: { caps } }: FeedbackPipeline,
  now: Date,
) {
  const { userHash, comment } = await personalData.toPrivateFeedback(feedback);
  const { userId: _user, ...kept } = feedback;
  return {
    ...kept,
    caps,
    id:
      'isResolved' in feedback && feedback.id !== null
        ? `otel-${personalData.hash(feedback.id)}`
        : feedbackId(feedback, userHash, (text) => personalData.hash(text)),
    receivedAt: now,
    occurredAt: feedback.occurredAt ?? now,
    sentiment: reading.sentiment,
    value: reading.value,
    userHash,
    comment,
    traceId: 'traceId' in feedback && !feedback.isResolved ? feedback.traceId : null,
    mayRepeat: mayRepeat(feedback),
  } satisfies Omit<StoredFeedback, 'counted'> & { caps: FeedbackCaps };
}

/** Applies the caps of the pipelines to decide which rows count. */
async function applyCaps(traffic: LiveTraffic, rows: readonly UncappedRow[]): Promise<StoredFeedback[]> {
  const days = capDays(rows);
  const isWithin = withinCaps(rows, days.length === 0 ? [] : await traffic.countedHours(days));
  return rows.map(({ caps: _caps, ...row }, position) => ({ ...row, counted: isWithin[position] === true }));
}
