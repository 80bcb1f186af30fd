/** Composes the taking in of live traffic: what each pipeline of the config does with its queries and feedback. */
import type { Config, PipelineConfig } from '../contracts/config/schema.ts';
import type { SentimentMapping } from '../core/feedback/sentiment-mapping.ts';
import type { FeedbackCaps } from '../core/feedback/user-cap.ts';
import type { AlwaysKeepRule } from '../core/sampling/decision.ts';
import { budgetShare } from '../core/sampling/minute-load.ts';
import type { IngestDeps } from '../http/ingest.ts';
import { type FeedbackPolicy, ingestFeedback } from '../pipeline/ingest-feedback.ts';
import {
  ingestQueries,
  keepUnhappy,
  type LivePipeline,
  type SamplingLoads,
} from '../pipeline/ingest-queries.ts';
import { createRecentQueries } from '../pipeline/recent-queries.ts';
import type { Clock } from '../ports/clock.ts';
import type { LiveTraffic } from '../ports/live-traffic.ts';
import type { Meter } from '../ports/metrics.ts';
import { createPersonalData } from './personal-data.ts';

/** Of unsampled queries, in case a user is unhappy with one: some minutes of a busy service. */
const RECENT = { queries: 10_000, bytes: 32 * 1024 * 1024 };

export interface LiveIngestSettings {
  readonly config: Config;
  readonly traffic: LiveTraffic;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly hashKey: string;
}

export interface LiveIngest extends Pick<IngestDeps, 'ingestQueries' | 'ingestFeedback'> {
  /** Learns how many replicas share the caps; to be called every minute or so. */
  refresh(): Promise<void>;
}

export async function createLiveIngest(settings: LiveIngestSettings): Promise<LiveIngest> {
  const { config, traffic, clock, meter, hashKey } = settings;
  const loads: SamplingLoads = new Map();
  const recent = createRecentQueries(RECENT);
  const live = new Map<string, LivePipeline>();
  const feedback = new Map<string, FeedbackPolicy>();
  const dimensions = new Map<string, number | null>();
  for (const pipeline of config.pipelines) {
    dimensions.set(
      pipeline.name,
      pipeline.embedding_dimensions ?? (await traffic.dimensions(pipeline.name, null)),
    );
  }
  const build = (replicas: number): void => {
    for (const pipeline of config.pipelines) {
      const personalData = createPersonalData(pipeline.privacy, hashKey);
      live.set(
        pipeline.name,
        livePipeline(pipeline, personalData, dimensions.get(pipeline.name) ?? null, replicas),
      );
      feedback.set(pipeline.name, feedbackPolicy(pipeline, personalData));
    }
  };
  let replicas = 1;
  build(replicas);

  const queriesDeps = {
    traffic,
    clock,
    meter,
    recent,
    livePipeline: (name: string) => live.get(name) ?? null,
    async learnDimensions(pipeline: string, length: number) {
      dimensions.set(pipeline, await traffic.dimensions(pipeline, length));
      build(replicas);
    },
  };
  const feedbackDeps = {
    traffic,
    clock,
    meter,
    keepUnhappy: (pipeline: string, queryId: string) => keepUnhappy(queriesDeps, pipeline, queryId),
    feedbackPolicy: (name: string) => feedback.get(name) ?? null,
  };
  return {
    ingestQueries: (queries) => ingestQueries(queriesDeps, loads, queries),
    ingestFeedback: (items) => ingestFeedback(feedbackDeps, items),
    async refresh() {
      replicas = await traffic.replicas(new Date(clock.now().getTime() - 120_000));
      build(replicas);
    },
  };
}

function livePipeline(
  { name, sampling, privacy }: PipelineConfig,
  personalData: LivePipeline['personalData'],
  dimensions: number | null,
  replicas: number,
): LivePipeline {
  return {
    name,
    limits: { dimensions, retentionDays: privacy.retention_days },
    sampling: {
      rates: { rate: sampling.rate, segments: sampling.segments },
      alwaysKeep: sampling.always_keep.map((kind): AlwaysKeepRule => ({ kind })),
      budget: budgetShare(sampling.max_per_minute, replicas),
    },
    personalData,
  };
}

function feedbackPolicy(
  { feedback, privacy }: PipelineConfig,
  personalData: FeedbackPolicy['personalData'],
): FeedbackPolicy {
  const { thumb_zero: zero, rating, relevance, caps, ...implicit } = feedback;
  const mapping: SentimentMapping = {
    thumb: { zero },
    rating: scaleOf(rating),
    relevance: scaleOf(relevance),
    ...implicit,
  };
  return { mapping, caps: capsOf(caps), retentionDays: privacy.retention_days, personalData };
}

function scaleOf(scale: PipelineConfig['feedback']['rating']) {
  return {
    min: scale.min,
    max: scale.max ?? Number.POSITIVE_INFINITY,
    positiveFrom: scale.positive_from,
    negativeTo: scale.negative_to,
  };
}

function capsOf(caps: PipelineConfig['feedback']['caps']): FeedbackCaps {
  const cap = ({ per_hour: perHour, per_day: perDay }: (typeof caps)['explicit']) => ({ perHour, perDay });
  return { explicit: cap(caps.explicit), engagement: cap(caps.engagement), struggle: cap(caps.struggle) };
}
