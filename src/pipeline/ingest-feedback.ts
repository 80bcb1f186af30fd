/** Feedback in: judge, make private, cap, store. Whether its query is there, was sampled or comes later does not matter. */
import { feedbackId } from '../core/feedback/feedback-id.ts';
import { type SentimentReading, sentimentOf } from '../core/feedback/sentiment.ts';
import type { SentimentMapping } from '../core/feedback/sentiment-mapping.ts';
import { type CapCandidate, capDays, type FeedbackCaps, withinCaps } from '../core/feedback/user-cap.ts';
import { checkOccurredAt } from '../core/live/check-live-query.ts';
import type { Feedback } from '../core/live/live-query.ts';
import type { Rejection } from '../core/live/rejection.ts';
import type { Clock } from '../ports/clock.ts';
import type { LiveTraffic, StoredFeedback } from '../ports/live-traffic.ts';
import type { Meter } from '../ports/metrics.ts';
import type { PersonalData } from './personal-data.ts';

/** How one pipeline takes in its feedback. */
export interface FeedbackPolicy {
  readonly mapping: SentimentMapping;
  readonly caps: FeedbackCaps;
  readonly retentionDays: number;
  readonly personalData: PersonalData;
}

export interface IngestFeedbackDeps {
  readonly traffic: LiveTraffic;
  readonly clock: Clock;
  readonly meter: Meter;
  /** Keeps a query that was not sampled, because a user was unhappy with it. */
  keepUnhappy(pipeline: string, queryId: string): Promise<void>;
  /** Null when the config has no pipeline of that name. */
  feedbackPolicy(pipeline: string): FeedbackPolicy | null;
}

export interface FeedbackReport {
  /** Valid feedback that is new, counted or beyond the cap of its user. */
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly (Rejection & { readonly index: number })[];
}

/** @throws RecalldError database_unreachable: nothing of the batch was stored, and it may be sent again */
export async function ingestFeedback(
  deps: IngestFeedbackDeps,
  feedback: readonly Feedback[],
): Promise<FeedbackReport> {
  const now = deps.clock.now();
  const rejected: (Rejection & { index: number })[] = [];
  const taken: Taken[] = [];
  for (const [index, item] of feedback.entries()) {
    const judged = judge(deps, item, now);
    if ('code' in judged) rejected.push({ index, ...judged });
    else taken.push(judged);
  }
  const rows = await applyCaps(deps, taken);
  const { isNew } = rows.length === 0 ? { isNew: [] } : await deps.traffic.recordFeedback(rows);
  for (const [position, { pipeline, kind, sentiment, queryId }] of rows.entries()) {
    if (isNew[position] !== true) continue;
    deps.meter.increment('recalld_feedback_total', { pipeline, kind, sentiment });
    if (sentiment === 'negative') await deps.keepUnhappy(pipeline, queryId);
  }
  const accepted = isNew.filter(Boolean).length;
  return { accepted, duplicates: rows.length - accepted, rejected };
}

interface Taken {
  readonly row: Omit<StoredFeedback, 'counted'>;
  readonly caps: FeedbackCaps;
}

function judge(deps: IngestFeedbackDeps, feedback: Feedback, now: Date): Taken | Rejection {
  const policy = deps.feedbackPolicy(feedback.pipeline);
  if (policy === null) {
    return {
      code: 'unknown_pipeline',
      message: `The config has no pipeline "${feedback.pipeline}"; add it under pipelines or mend the name.`,
    };
  }
  const timing = checkOccurredAt(feedback.occurredAt, policy.retentionDays, now);
  if (timing !== null) return timing;
  const reading = sentimentOf(feedback, policy.mapping);
  if (reading.kind === 'refused') return { code: 'invalid_field', message: reading.message };
  return { row: toRow(feedback, reading, policy.personalData, now), caps: policy.caps };
}

function toRow(
  feedback: Feedback,
  reading: SentimentReading,
  personalData: PersonalData,
  now: Date,
): Taken['row'] {
  const { userHash, comment } = personalData.ofFeedback(feedback);
  return {
    id: feedbackId(feedback, userHash, (text) => personalData.hash(text)),
    pipeline: feedback.pipeline,
    queryId: feedback.queryId,
    kind: feedback.kind,
    documentId: feedback.documentId,
    rank: feedback.rank,
    receivedAt: now,
    occurredAt: feedback.occurredAt ?? now,
    sentiment: reading.sentiment,
    value: reading.value,
    userHash,
    comment,
  };
}

/** Says for each row whether it counts. Pipelines have caps of their own, so each is judged apart. */
async function applyCaps(deps: IngestFeedbackDeps, taken: readonly Taken[]): Promise<StoredFeedback[]> {
  const candidates = taken.map(({ row }): CapCandidate => ({ ...row, author: row.userHash }));
  const counted = candidates.length === 0 ? [] : await deps.traffic.countedHours(capDays(candidates));
  const answers = new Map<CapCandidate, boolean>();
  for (const caps of new Set(taken.map((one) => one.caps))) {
    const batch = candidates.filter((_, position) => taken[position]?.caps === caps);
    for (const [position, answer] of withinCaps(batch, counted, caps).entries()) {
      const candidate = batch[position];
      if (candidate !== undefined) answers.set(candidate, answer);
    }
  }
  return candidates.map((candidate, position) => ({
    ...(taken[position] as Taken).row,
    counted: answers.get(candidate) ?? false,
  }));
}
