/** What users thought of the answers within a window: opinions by kind, and positive ratios with their bounds. */
import { type FeedbackBasis, kindsOf } from '../../core/feedback/kind-group.ts';
import { latestOpinions } from '../../core/feedback/latest-opinions.ts';
import {
  type FeedbackWindow,
  type JudgedFeedback,
  type PositiveRatioOutcome,
  positiveRatios,
} from '../../core/feedback/positive-ratio.ts';
import type { Sentiment } from '../../core/feedback/sentiment-mapping.ts';
import type { FeedbackKind } from '../../core/live/live-query.ts';
import type { LiveTraffic } from '../../ports/live-traffic.ts';
import { type FeedbackSource, withinSegments } from '../publish/publish-feedback.ts';

export interface KindCount extends Readonly<Record<Sentiment, number>> {
  readonly kind: FeedbackKind;
  /** All of it, before later words replace earlier ones and caps are applied. */
  readonly feedback: number;
}

export interface FeedbackSummary {
  readonly pipeline: string;
  /** Kinds that occur. */
  readonly kinds: readonly KindCount[];
  /** Positive ratios by segment. */
  readonly opinions: Readonly<Record<FeedbackBasis, ReadonlyMap<string, PositiveRatioOutcome>>>;
}

/** Summarises the feedback on a pipeline that occurred within the window. */
export async function summarizeFeedback(
  traffic: Pick<LiveTraffic, 'feedback'>,
  source: FeedbackSource,
  window: FeedbackWindow,
): Promise<FeedbackSummary> {
  const found = await traffic.feedback(source.pipeline, window.from, window.until);
  const feedback = withinSegments(found, source);
  const ratios = (basis: FeedbackBasis) => positiveRatios(feedback, window, basis);
  return {
    pipeline: source.pipeline,
    kinds: kindCounts(found),
    opinions: { all: ratios('all'), explicit: ratios('explicit'), implicit: ratios('implicit') },
  };
}

function kindCounts(feedback: readonly JudgedFeedback[]): KindCount[] {
  const opinions = latestOpinions(feedback).filter(({ isCounted }) => isCounted);
  return kindsOf('all').flatMap((kind) => {
    const count = (sentiment: Sentiment) =>
      opinions.filter((one) => one.kind === kind && one.sentiment === sentiment).length;
    const all = feedback.filter((one) => one.kind === kind).length;
    if (all === 0) return [];
    return [
      {
        kind,
        feedback: all,
        positive: count('positive'),
        negative: count('negative'),
        neutral: count('neutral'),
      },
    ];
  });
}
