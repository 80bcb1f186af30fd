/** The config of a pipeline: its retriever, store and embedder, sampling, golden sets and checks. */

import { z } from 'zod';
import { checkSchema, refuseImpossibleChecks } from '../../checks/config.ts';
import { embedderSchema } from '../../connectors/embedders/embedder.ts';
import {
  partsNeededBy,
  type RetrieverConfig,
  retrieverSchema,
  textFieldMissingIn,
} from '../../connectors/retrievers/config.ts';
import { type VectorStoreConfig, vectorStoreSchema } from '../../connectors/stores/config.ts';
import { densitySchema } from '../../density/config.ts';
import { refuseShadowWithoutParts, shadowsSchema, variantsSchema } from '../../experiments/config.ts';
import { quietHoursSchema, refuseRepeats, refuseRepeatsOf } from '../../golden/config.ts';
import { defaultCutoffs, gainMeasures } from '../../golden/rules/run.ts';
import { indexSchema, refuseIndexWithoutStore } from '../../index/truth/config.ts';
import { judgedSchema, refuseUnjudgeableTraffic } from '../../judging/config.ts';
import {
  episodesSchema,
  feedbackPolicySchema,
  isolationSchema,
  liveSchema,
  privacySchema,
  retrievalToolsSchema,
  samplingSchema,
} from '../../live/config.ts';
import { httpServiceShape, nameSchema } from '../../platform/config/connection.ts';
import { cronSchema, durationSchema, timezoneSchema } from '../../platform/config/times.ts';
import { objectivesSchema } from './alerts.ts';

const goldenSchema = z.strictObject({
  set: nameSchema.describe('Name of the imported golden set.'),
  cron: cronSchema
    .optional()
    .describe(
      'Schedule of full runs. A run that is scheduled for a time of day starts once a day, even when the clocks change (docs/how-to/golden-runs.md). Default: manual runs only.',
    ),
  timezone: timezoneSchema
    .default('UTC')
    .describe('Time zone for `cron`, `quiet_hours` and the day boundary of `max_queries_per_day`.'),
  sentinel: z
    .strictObject({
      cron: cronSchema.describe('Schedule of the sentinel.'),
      queries: z.int().min(1).max(10_000).default(50).describe('Number of queries in the sentinel.'),
    })
    .optional()
    .describe(
      'The sentinel: a small sample of the golden set that runs often. If its scores drop, a full run starts immediately.',
    ),
  quiet_hours: z
    .array(quietHoursSchema)
    .max(24)
    .default([])
    .describe(
      'Hours without scheduled full runs. Sentinels still run, and a drop in their scores still starts a full run.',
    ),
  max_queries_per_day: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'Maximum number of queries per day for this set, counted from midnight in `timezone`. recalld skips further runs.',
    ),
  keep_answers: durationSchema('7d', '3650d')
    .default('180d')
    .describe(
      'How long recalld retains the results of golden runs. recalld always retains scores, and the results of baselines, of runs that incidents refer to, and of the first and last run of each day.',
    ),
  rotation_runs: z
    .int()
    .min(0)
    .max(50)
    .default(3)
    .describe(
      'Before a new version of the set replaces the old version, both must complete a run at this many scheduled times. 0 replaces the old version immediately.',
    ),
  cutoffs: z
    .array(z.int().min(1).max(1000))
    .min(1)
    .default([...defaultCutoffs])
    .describe('Cutoffs k for every measure. recalld requests as many documents as the largest cutoff.'),
  gains: z
    .array(z.enum(gainMeasures))
    .superRefine(refuseRepeats)
    .default([])
    .describe(
      'Cumulative gains to compute and export in addition to the other measures. Cumulative gains depend on the grades, so they are comparable only between runs of the same set, and checks cannot use them.',
    ),
  relevance_level: z.int().min(1).default(1).describe('Minimum grade that counts as relevant; does not affect nDCG.'),
  no_answer: z
    .strictObject({
      max_score: z
        .number()
        .nullable()
        .default(null)
        .describe(
          'Documents with a score up to this value do not count. Documents with a higher score, or without a score, count; if null, all documents count.',
        ),
      max_results: z
        .int()
        .min(0)
        .max(1000)
        .default(0)
        .describe('A result list is correct if at most this many of its documents count (see `max_score`).'),
    })
    .prefault({})
    .describe(
      'Defines which result lists are correct for a query marked `no_answer`. Any other list is a false answer.',
    ),
  concurrency: z.int().min(1).max(256).default(4).describe('Maximum number of concurrent queries to the retriever.'),
  max_per_second: httpServiceShape.max_per_second.describe('Maximum number of queries per second to the retriever.'),
  on_error: z
    .enum(['score_zero', 'void'])
    .default('score_zero')
    .describe(
      '`score_zero` gives a failed query the score 0. `void` makes a run void if its share of failed queries exceeds `error_budget`.',
    ),
  error_budget: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe(
      'Maximum share of failed queries. Above this share, a sentinel run fails, and a full run with `on_error: void` is void.',
    ),
});

export const pipelineSchema = z
  .strictObject({
    name: nameSchema.describe('Name of the pipeline, used as a metric label.'),
    retriever: retrieverSchema.describe(
      'The monitored retriever, which receives the text of a query and returns ranked documents.',
    ),
    vector_store: vectorStoreSchema
      .optional()
      .describe(
        'The vector store behind the retriever. A field of the store is a column, a property, an attribute, or a payload or metadata key.',
      ),
    embedder: embedderSchema.optional().describe('The embedding model, which converts texts into vectors.'),
    ann_recall: z
      .strictObject({
        queries: z
          .int()
          .min(0)
          .max(1000)
          .default(20)
          .describe(
            'Number of live queries per hour for which recalld also runs an exact search. Exact searches are expensive; 0 disables them.',
          ),
        k: z.int().min(1).max(100).default(10).describe('Number of neighbors per search.'),
      })
      .prefault({})
      .describe("Measures the share of exact nearest neighbors that the store's index finds."),
    embedding_dimensions: z
      .int()
      .min(1)
      .max(16_384)
      .nullable()
      .default(null)
      .describe('Number of dimensions of live query vectors. If null, the first vector determines the number.'),
    sampling: samplingSchema,
    service_names: z
      .array(z.string().min(1).max(256))
      .max(100)
      .default([])
      .describe('`service.name` values whose OpenTelemetry spans belong to this pipeline.'),
    retrieval_tools: retrievalToolsSchema,
    segments: z
      .strictObject({
        keys: z
          .array(z.string().min(1).max(64))
          .default([])
          .superRefine(refuseRepeats)
          .describe('Segment keys whose values recalld measures separately.'),
        max: z
          .int()
          .min(1)
          .max(1000)
          .default(50)
          .describe(
            'Maximum number of segments. If there are more, recalld combines the smallest segments into `other`.',
          ),
      })
      .prefault({})
      .describe('Segments that recalld measures separately, in live traffic and in golden sets.'),
    isolation: isolationSchema,
    episodes: episodesSchema,
    live: liveSchema,
    privacy: privacySchema,
    feedback: feedbackPolicySchema,
    density: densitySchema.optional(),
    judged: judgedSchema.optional(),
    index: indexSchema.optional(),
    shadow: shadowsSchema,
    variants: variantsSchema.optional(),
    golden: z
      .array(goldenSchema)
      .default([])
      .superRefine(refuseRepeatsOf('set'))
      .describe('Golden sets to run against the retriever.'),
    checks: z
      .array(checkSchema)
      .default([])
      .describe(
        'Checks; a failing check fires an alert. If the 95 % CI of a measure includes the threshold, the failure is only a warning.',
      ),
    slo: objectivesSchema.optional(),
  })
  .superRefine(refuseImpossibleChecks)
  .superRefine(refuseMissingParts)
  .superRefine(refuseDensityWithoutStore)
  .superRefine(refuseUnjudgeableTraffic)
  .superRefine(refuseIndexWithoutStore)
  .superRefine(refuseShadowWithoutParts);

/**
 * Requires a store for query density. A density drift check needs query density even if `density` is omitted: the
 * defaults then apply.
 */
function refuseDensityWithoutStore(
  pipeline: { density?: unknown; vector_store?: unknown; checks: readonly object[] },
  context: z.RefinementCtx,
): void {
  if (pipeline.vector_store !== undefined) return;
  const isChecked = pipeline.checks.some((check) => 'density_drift' in check);
  if (pipeline.density === undefined && !isChecked) return;
  const message = `is missing; ${pipeline.density === undefined ? 'the check density_drift' : 'density'} requires it`;
  context.addIssue({ code: 'custom', path: ['vector_store'], message });
}

/** Refuses a retriever without the store or embedder that it needs, and a reranker without texts. */
function refuseMissingParts(
  pipeline: {
    retriever: RetrieverConfig;
    vector_store?: VectorStoreConfig | undefined;
    embedder?: unknown;
  },
  context: z.RefinementCtx,
): void {
  const { retriever, vector_store: store } = pipeline;
  for (const part of partsNeededBy(retriever)) {
    if (pipeline[part] !== undefined) continue;
    const message = `is missing; a retriever of kind ${retriever.kind} requires it`;
    context.addIssue({ code: 'custom', path: [part], message });
  }
  const path = retriever.kind === 'rerank' ? textFieldMissingIn(retriever.of, store) : null;
  if (path === null) return;
  const message = 'is missing; the reranker requires document texts';
  context.addIssue({ code: 'custom', path: [...path], message });
}
