/** What users thought of the answers within a window: opinions by kind, and positive ratios with their bounds. */

import { type FeedbackSource, withinSegments } from './feedback-source.ts';
import type { LiveTraffic } from './ports/live-traffic.ts';
import {
  type FeedbackWindow,
  type OpinionTally,
  type PositiveRatioOutcome,
  positiveRatios,
} from './rules/feedback/positive-ratio.ts';
import type { Sentiment } from './rules/feedback/sentiment.ts';
import { type FeedbackBasis, kindsOf } from './rules/feedback/user-cap.ts';
import type { FeedbackKind } from './rules/live-query.ts';

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
  traffic: Pick<LiveTraffic, 'opinions'>,
  source: FeedbackSource,
  window: FeedbackWindow,
): Promise<FeedbackSummary> {
  const found = await traffic.opinions(source.pipeline, window, source.segmentKeys);
  const tallies = withinSegments(found, source);
  const ratios = (basis: FeedbackBasis) => positiveRatios(tallies, basis);
  return {
    pipeline: source.pipeline,
    kinds: kindCounts(found),
    opinions: { all: ratios('all'), explicit: ratios('explicit'), implicit: ratios('implicit') },
  };
}

function kindCounts(tallies: readonly OpinionTally[]): KindCount[] {
  return kindsOf('all').flatMap((kind) => {
    const own = tallies.filter((tally) => tally.kind === kind);
    const opinions = (sentiment: Sentiment) =>
      own.reduce((sum, tally) => sum + (tally.sentiment === sentiment ? tally.opinions : 0), 0);
    const feedback = own.reduce((sum, tally) => sum + tally.feedback, 0);
    if (feedback === 0) return [];
    return [
      {
        kind,
        feedback,
        positive: opinions('positive'),
        negative: opinions('negative'),
        neutral: opinions('neutral'),
      },
    ];
  });
}
