import type { ClickedQuery } from '../../../../../src/live/rules/feedback/click-rates.ts';
import type { BaselineCtr } from '../../../../../src/live/rules/feedback/clicks-over-expected-clicks.ts';
import type { SentimentMapping } from '../../../../../src/live/rules/feedback/sentiment.ts';
import { type CapCandidate, defaultFeedbackCaps } from '../../../../../src/live/rules/feedback/user-cap.ts';
import type { Feedback } from '../../../../../src/live/rules/live-query.ts';

export const NOON = new Date('2026-11-20T12:00:00.000Z');

/** Returns the time `minutes` minutes after noon. */
export function minutesAfterNoon(minutes: number): Date {
  return new Date(NOON.getTime() + minutes * 60_000);
}

/** Returns a positive thumb for `q1`, as ada sent it. */
export function aFeedback(parts: Partial<Feedback> = {}): Feedback {
  return {
    id: null,
    queryId: 'q1',
    pipeline: 'support-docs',
    kind: 'thumb',
    value: true,
    documentId: null,
    rank: null,
    occurredAt: null,
    userId: 'ada',
    comment: null,
    ...parts,
  };
}

/** Returns a click by ada on `q1` at noon, before the cap is applied. */
export function aCandidate(parts: Partial<CapCandidate> = {}): CapCandidate {
  return {
    id: 'f1',
    pipeline: 'support-docs',
    queryId: 'q1',
    kind: 'click',
    userHash: 'hash-of-ada',
    caps: defaultFeedbackCaps,
    occurredAt: NOON,
    ...parts,
  };
}

/** Returns a query of a separate session, sampled with certainty, with ten documents and no click. */
export function aClickedQuery(parts: Partial<ClickedQuery> = {}): ClickedQuery {
  return { cluster: 's1', probability: 1, shown: 10, clickedRanks: [], ...parts };
}

/** Returns a baseline with these click rates, without uncertainty. */
export function aBaselineCtr(rates: readonly number[]): BaselineCtr {
  const covariance = rates.map(() => rates.map(() => 0));
  return { kind: 'baseline', rates: [...rates], covariance, queries: 1000, sessions: 1000, clicks: 1000 };
}

/** The default sentiment mapping. */
export const usualSentimentMapping: SentimentMapping = {
  thumb_zero: 'negative',
  rating: { min: 1, max: 5, positive_from: 4, negative_to: 2 },
  relevance: { min: 0, positive_from: 1, negative_to: 0 },
  click: 'positive',
  copy: 'positive',
  reformulation: 'negative',
  abandonment: 'negative',
  no_answer: 'negative',
};
