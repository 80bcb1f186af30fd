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
import { quietHoursSchema, refuseRepeats } from '../../golden/config.ts';
import { defaultCutoffs, gainMeasures } from '../../golden/rules/run.ts';
import { indexSchema, refuseIndexWithoutStore } from '../../index/truth/config.ts';
import { judgedSchema, refuseUnjudgeableTraffic } from '../../judging/config.ts';
import { feedbackPolicySchema, liveSchema, privacySchema, samplingSchema } from '../../live/config.ts';
import { nameSchema } from '../../platform/config/connection.ts';
import { cronSchema, durationSchema, timezoneSchema } from '../../platform/config/times.ts';
import { objectivesSchema } from './alerts.ts';

const goldenSchema = z.strictObject({
  set: nameSchema.describe('Name of the imported golden set.'),
  cron: cronSchema
    .optional()
    .describe(
      'Schedule of its runs. Default: only manual runs. A time of day occurs once a day, also when clocks change (docs/how-to/golden-runs.md).',
    ),
  timezone: timezoneSchema
    .default('UTC')
    .describe('Time zone of `cron`, `quiet_hours` and the day of `max_queries_per_day`.'),
  sentinel: z
    .strictObject({
      cron: cronSchema.describe('Schedule of the sentinel.'),
      queries: z.int().min(1).max(10_000).default(50).describe('Number of queries of the sentinel.'),
    })
    .optional()
    .describe('A small sample that runs often; if its scores drop, a full run starts immediately.'),
  quiet_hours: z
    .array(quietHoursSchema)
    .max(24)
    .default([])
    .describe('Hours without scheduled full runs; sentinels still run, and a drop of one starts a full run.'),
  max_queries_per_day: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .describe('Maximum queries per day for this set, from midnight in `timezone`; further runs are skipped.'),
  keep_answers: durationSchema('7d', '3650d')
    .default('180d')
    .describe(
      'Retention of the answers of its runs. Scores are kept, and so are the answers of baselines, of runs in incidents, and of the first and last run of a day.',
    ),
  rotation_runs: z
    .int()
    .min(0)
    .max(50)
    .default(3)
    .describe('Completed ticks for which a new version runs beside the old one before it replaces it; 0: immediately.'),
  cutoffs: z
    .array(z.int().min(1).max(1000))
    .min(1)
    .default([...defaultCutoffs])
    .describe('Cut-offs k of every measure; the largest is the number of requested documents.'),
  gains: z
    .array(z.enum(gainMeasures))
    .superRefine(refuseRepeats)
    .default([])
    .describe(
      'Additional sums of gains to compute and export: `cg`, `dcg`. They depend on the grades, so they only compare runs of this set, and checks cannot use them.',
    ),
  relevance_level: z.int().min(1).default(1).describe('Minimum grade that counts as relevant; does not affect nDCG.'),
  no_answer: z
    .strictObject({
      max_score: z
        .number()
        .nullable()
        .default(null)
        .describe('Only documents with a higher score, or without one, count; null: all count.'),
      max_results: z
        .int()
        .min(0)
        .max(1000)
        .default(0)
        .describe('Maximum number of counted documents for a correct answer.'),
    })
    .prefault({})
    .describe('Limits of a correct answer to a query marked `no_answer`; more documents are a false answer.'),
  concurrency: z.int().min(1).max(256).default(4).describe('Maximum concurrent queries to the retriever.'),
  max_per_second: z
    .number()
    .positive()
    .max(100_000)
    .default(20)
    .describe('Maximum queries per second to the retriever.'),
  on_error: z
    .enum(['score_zero', 'void'])
    .default('score_zero')
    .describe('`score_zero`: a failed query scores 0; `void`: a run with more failures than `error_budget` is void.'),
  error_budget: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe('Maximum share of failed queries of a run with `void`.'),
});

export const pipelineSchema = z
  .strictObject({
    name: nameSchema.describe('Name of the pipeline, a label of its metrics.'),
    retriever: retrieverSchema.describe('The monitored retriever: text in, ranked documents out.'),
    vector_store: vectorStoreSchema.optional().describe('The vector store of the retriever.'),
    embedder: embedderSchema.optional().describe('The embedder, which turns text into vectors.'),
    ann_recall: z
      .strictObject({
        queries: z
          .int()
          .min(0)
          .max(1000)
          .default(20)
          .describe('Live queries per hour that are also searched exactly in the store, which is expensive; 0: none.'),
        k: z.int().min(1).max(100).default(10).describe('Neighbours per search.'),
      })
      .prefault({})
      .describe('Measurement of the share of exact nearest neighbours that the index of the store finds.'),
    embedding_dimensions: z
      .int()
      .min(1)
      .max(16_384)
      .nullable()
      .default(null)
      .describe('Dimensions of the vectors of live queries; null uses those of the first vector.'),
    sampling: samplingSchema,
    service_names: z
      .array(z.string().min(1).max(256))
      .max(100)
      .default([])
      .describe('Values of `service.name` whose OpenTelemetry spans belong to this pipeline.'),
    segments: z
      .strictObject({
        keys: z
          .array(z.string().min(1).max(64))
          .default([])
          .superRefine(refuseRepeats)
          .describe('Segment keys whose values are measured separately.'),
        max: z
          .int()
          .min(1)
          .max(1000)
          .default(50)
          .describe('Maximum number of segments; smaller ones are combined into `other`.'),
      })
      .prefault({})
      .describe('Segments of live traffic and golden sets that are measured separately.'),
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
      .superRefine((list, context) =>
        refuseRepeats(
          list.map(({ set }) => set),
          context,
          'set',
        ),
      )
      .describe('Golden sets that are run against the retriever.'),
    checks: z.array(checkSchema).default([]).describe('Checks of measures; a failing check fires an alert.'),
    slo: objectivesSchema.optional(),
  })
  .superRefine(refuseImpossibleChecks)
  .superRefine(refuseMissingParts)
  .superRefine(refuseDensityWithoutStore)
  .superRefine(refuseUnjudgeableTraffic)
  .superRefine(refuseIndexWithoutStore)
  .superRefine(refuseShadowWithoutParts);

/** A check on density drift uses the defaults if `density` is omitted. */
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

/**
 * Refuses a retriever that embeds and searches without an embedder and a store of the pipeline, and a reranker without the
 * texts of its first stage.
 */
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
    const message = `is missing; the retriever of kind ${retriever.kind} requires it`;
    context.addIssue({ code: 'custom', path: [part], message });
  }
  const path = retriever.kind === 'rerank' ? textFieldMissingIn(retriever.of, store) : null;
  if (path === null) return;
  const message = 'is missing; the reranker requires the texts of the documents';
  context.addIssue({ code: 'custom', path: [...path], message });
}
