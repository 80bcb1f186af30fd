/** A live query that may become a golden one, with what its user thought of the answer. */
import type { Sentiment } from '../../../live/rules/feedback/sentiment.ts';
import type { RetrievedDocument } from '../../../model.ts';

export interface CandidateFeedback {
  readonly kind: string;
  readonly sentiment: Sentiment;
  /** The document that it is about; null when it is about the answer. */
  readonly documentId: string | null;
  readonly count: number;
}

export interface CandidateQuery {
  readonly id: string;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly askedAt: Date;
  /** It stands for 1 / probability live queries. */
  readonly probability: number;
  readonly userHash: string | null;
  readonly results: readonly RetrievedDocument[];
  readonly feedback: readonly CandidateFeedback[];
}

/** What users thought of the answers to one question. */
export interface FeedbackTally {
  /** Opinions on the answer, clicks left out. */
  readonly positive: number;
  readonly negative: number;
  readonly clicks: number;
}

export function tallyOf(feedback: readonly CandidateFeedback[]): FeedbackTally {
  const count = (holds: (one: CandidateFeedback) => boolean): number =>
    feedback.reduce((sum, one) => sum + (holds(one) ? one.count : 0), 0);
  return {
    positive: count(({ kind, sentiment }) => kind !== 'click' && sentiment === 'positive'),
    negative: count(({ kind, sentiment }) => kind !== 'click' && sentiment === 'negative'),
    clicks: count(({ kind }) => kind === 'click'),
  };
}
