/** `/v1/feedback/summary`. */
import type { FastifyInstance } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { parseRequest } from '../http/fields.ts';
import { feedbackSummaryQuery } from '../status/schema.ts';
import { type Clock, HOUR_MS } from '../time.ts';
import { type FeedbackSource, withinSegments } from './measure-live-traffic.ts';
import type { Sentiment } from './rules/feedback/sentiment.ts';
import {
  type FeedbackBasis,
  type FeedbackWindow,
  kindsOf,
  type OpinionTally,
  type PositiveRatioOutcome,
  positiveRatios,
} from './rules/feedback/user-cap.ts';
import type { FeedbackKind } from './rules/live-query.ts';
import type { LiveTraffic } from './sql/live-traffic.ts';

export interface FeedbackSummaryDeps {
  readonly authentication: AuthenticationSettings;
  readonly clock: Clock;
  /**
   * One summary for each pipeline of the config, or for the one of that name.
   *
   * @throws RecalldError pipeline_unknown
   */
  summarizeFeedback(
    pipeline: string | null,
    window: { readonly from: Date; readonly until: Date },
  ): Promise<readonly FeedbackSummary[]>;
}

export function addFeedbackSummary(app: FastifyInstance, deps: FeedbackSummaryDeps): void {
  const read = { preParsing: requireScope('read', deps.authentication) };

  app.get('/v1/feedback/summary', read, async (request) => {
    const { pipeline, hours } = parseRequest(request.query, feedbackSummaryQuery, 'query');
    const until = deps.clock.now();
    const from = new Date(until.getTime() - hours * HOUR_MS);
    const summaries = await deps.summarizeFeedback(pipeline ?? null, { from, until });
    return {
      from: from.toISOString(),
      until: until.toISOString(),
      pipelines: summaries.map(({ pipeline: name, kinds, opinions }) => ({
        pipeline: name,
        kinds,
        opinions: {
          all: bySegment(opinions.all),
          explicit: bySegment(opinions.explicit),
          implicit: bySegment(opinions.implicit),
        },
      })),
    };
  });
}

function bySegment(ratios: ReadonlyMap<string, PositiveRatioOutcome>) {
  return Object.fromEntries([...ratios].map(([segment, outcome]) => [segment, ratioJson(outcome)]));
}

function ratioJson(outcome: PositiveRatioOutcome) {
  const ci_method = 'wilson';
  if (outcome.kind !== 'ratio') {
    return { positive: 0, negative: 0, n: 0, positive_ratio: null, ci_low: null, ci_high: null, ci_method };
  }
  const { positive, negative, n, value, low, high } = outcome;
  return { positive, negative, n, positive_ratio: value, ci_low: low, ci_high: high, ci_method };
}

interface KindCount extends Readonly<Record<Sentiment, number>> {
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
