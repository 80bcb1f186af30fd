/** Feedback in: judge, make private, cap, store. Whether its query is there, was sampled or comes later does not matter. */

import type { Rejection } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import type { PersonalData } from './privacy/personal-data.ts';
import type { Judged } from './recent-queries.ts';
import {
  feedbackId,
  mayRepeat,
  type SentimentMapping,
  type SentimentReading,
  sentimentOf,
} from './rules/feedback/sentiment.ts';
import { type CapCandidate, capDays, type FeedbackCaps, withinCaps } from './rules/feedback/user-cap.ts';
import { checkOccurredAt, type Feedback } from './rules/live-query.ts';
import type { TracedFeedback } from './rules/otel/feedback.ts';
import type { StoredFeedback } from './sql/feedback-rows.ts';
import type { LiveTraffic } from './sql/live-traffic.ts';

/** How one pipeline takes in its feedback. */
export interface FeedbackPolicy {
  readonly mapping: SentimentMapping;
  readonly caps: FeedbackCaps;
  readonly retentionDays: number;
  readonly personalData: PersonalData;
}

interface IngestFeedbackDeps {
  readonly traffic: LiveTraffic;
  readonly clock: Clock;
  readonly meter: Meter;
  /** Keeps what was not sampled, because a user was unhappy with it. */
  promoteNegativeFeedback(judged: Judged): Promise<void>;
  /** Null when the config has no pipeline of that name. */
  feedbackPolicy(pipeline: string): FeedbackPolicy | null;
}

/** @throws RecalldError database_unreachable: nothing of the batch was stored, and it may be sent again */
export async function ingestFeedback(deps: IngestFeedbackDeps, feedback: readonly (Feedback | TracedFeedback)[]) {
  const now = deps.clock.now();
  const rejected: (Rejection & { index: number })[] = [];
  const arriving: Promise<Taken>[] = [];
  for (const [index, item] of feedback.entries()) {
    const judged = judge(deps, item, now);
    if ('code' in judged) rejected.push({ index, ...judged });
    else arriving.push(toRow(item, judged.reading, judged.policy, now));
  }
  const taken = await Promise.all(arriving);
  const rows = await applyCaps(deps, taken);
  const { isNew } = rows.length === 0 ? { isNew: [] } : await deps.traffic.recordFeedback(rows);
  const kept: Promise<void>[] = [];
  for (const [position, row] of rows.entries()) {
    const { pipeline, kind, sentiment } = row;
    if (isNew[position] === true) {
      deps.meter.increment('recalld_feedback_total', { pipeline, kind, sentiment });
    }
    // At once, as each may have to wait for a service that redacts. A repeat too: its first time may have failed here.
    if (sentiment === 'negative') kept.push(deps.promoteNegativeFeedback(row));
  }
  await Promise.all(kept);
  const accepted = isNew.filter(Boolean).length;
  return {
    /** Valid feedback that is new, counted or beyond the cap of its user. */
    accepted,
    duplicates: rows.length - accepted,
    rejected,
  };
}

interface Taken {
  readonly row: Omit<StoredFeedback, 'counted'>;
  readonly caps: FeedbackCaps;
}

interface Judging {
  readonly policy: FeedbackPolicy;
  readonly reading: SentimentReading;
}

function judge(deps: IngestFeedbackDeps, feedback: Feedback | TracedFeedback, now: Date): Judging | Rejection {
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
  return { policy, reading };
}

/** Never rejects; all of a batch are made private at once. */
async function toRow(
  feedback: Feedback | TracedFeedback,
  reading: SentimentReading,
  { personalData, caps }: FeedbackPolicy,
  now: Date,
): Promise<Taken> {
  const { userHash, comment } = await personalData.ofFeedback(feedback);
  const row: Taken['row'] = {
    id:
      'isResolved' in feedback && feedback.id !== null
        ? `otel-${personalData.hash(feedback.id)}`
        : feedbackId(feedback, userHash, (text) => personalData.hash(text)),
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
    traceId: 'traceId' in feedback && !feedback.isResolved ? feedback.traceId : null,
    mayRepeat: mayRepeat(feedback),
  };
  return { row, caps };
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
