/** One pipeline of recalld.yaml: what it is made of, how it is sampled, what is expected of it. */

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
  set: nameSchema.describe('Name that the golden set was imported under.'),
  cron: cronSchema
    .optional()
    .describe(
      'When to rerun it; left out, it runs only by hand. A time of the day comes once a day, also when clocks are set (docs/how-to/golden-runs.md).',
    ),
  timezone: timezoneSchema
    .default('UTC')
    .describe('Time zone of `cron`, `quiet_hours` and the day of `max_queries_per_day`.'),
  sentinel: z
    .strictObject({
      cron: cronSchema.describe('When to rerun the sentinel.'),
      queries: z.int().min(1).max(10_000).default(50).describe('Size of the sentinel.'),
    })
    .optional()
    .describe('A few queries rerun often; when they fall, a full run starts at once.'),
  quiet_hours: z
    .array(quietHoursSchema)
    .max(24)
    .default([])
    .describe('Hours in which no full run starts by `cron`; sentinels run, and a fallen one starts a full run.'),
  max_queries_per_day: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .describe('Most queries a day of this set, from midnight in `timezone`; runs beyond it are skipped.'),
  keep_answers: durationSchema('7d', '3650d')
    .default('180d')
    .describe(
      'How long the answers of its runs are kept. Scores stay; so do the answers of baselines, of runs of incidents, and of the first and the last run of a day.',
    ),
  rotation_runs: z
    .int()
    .min(0)
    .max(50)
    .default(3)
    .describe('Completed ticks at which a new version runs beside the old one before it takes over; 0: at once.'),
  cutoffs: z
    .array(z.int().min(1).max(1000))
    .min(1)
    .default([...defaultCutoffs])
    .describe('Cut-offs k of every measure; the retriever is asked for the largest.'),
  gains: z
    .array(z.enum(gainMeasures))
    .superRefine(refuseRepeats)
    .default([])
    .describe(
      'Sums of gains to score and export beside the other measures: `cg`, `dcg`. They grow with the grades, so that they compare runs of this set alone, and no check is set on them.',
    ),
  relevance_level: z.int().min(1).default(1).describe('Least grade that counts as relevant; never touches nDCG.'),
  no_answer: z
    .strictObject({
      max_score: z
        .number()
        .nullable()
        .default(null)
        .describe('Documents count that score higher, or have no score; null: all do.'),
      max_results: z.int().min(0).max(1000).default(0).describe('How many of them are still right.'),
    })
    .prefault({})
    .describe('What an answer to a question that is marked `no_answer` may hold; more is a false answer.'),
  concurrency: z.int().min(1).max(256).default(4).describe('Most queries in flight to the retriever.'),
  max_per_second: z.number().positive().max(100_000).default(20).describe('Most queries a second to the retriever.'),
  on_error: z
    .enum(['score_zero', 'void'])
    .default('score_zero')
    .describe('`score_zero`: a failed query scores 0; `void`: a run with more failures than `error_budget` is void.'),
  error_budget: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe('Share of failed queries up to which `void` keeps a run.'),
});

export const pipelineSchema = z
  .strictObject({
    name: nameSchema.describe('Label of every metric of this pipeline.'),
    retriever: retrieverSchema.describe('What is watched: text in, ranked documents out.'),
    vector_store: vectorStoreSchema.optional().describe('The store behind the retriever.'),
    embedder: embedderSchema.optional().describe('Turns text into vectors.'),
    ann_recall: z
      .strictObject({
        queries: z
          .int()
          .min(0)
          .max(1000)
          .default(20)
          .describe('Live queries an hour for which the store is also searched exactly, which is costly; 0: none.'),
        k: z.int().min(1).max(100).default(10).describe('Neighbours that each search asks for.'),
      })
      .prefault({})
      .describe('Measures how many of the exact nearest neighbours the index of the store finds.'),
    embedding_dimensions: z
      .int()
      .min(1)
      .max(16_384)
      .nullable()
      .default(null)
      .describe('Length of the vectors of live queries; null learns it from the first one.'),
    sampling: samplingSchema,
    service_names: z
      .array(z.string().min(1).max(256))
      .max(100)
      .default([])
      .describe('Values of `service.name` whose OpenTelemetry spans belong to this pipeline, and to no other.'),
    segments: z
      .strictObject({
        keys: z
          .array(z.string().min(1).max(64))
          .default([])
          .superRefine(refuseRepeats)
          .describe('Tags whose values are measured apart.'),
        max: z
          .int()
          .min(1)
          .max(1000)
          .default(50)
          .describe('Most segments; the largest are kept apart, the rest together are `other`.'),
      })
      .prefault({})
      .describe('Slices of the traffic and of golden sets that are measured apart.'),
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
      .describe('Golden sets that are rerun against the retriever.'),
    checks: z.array(checkSchema).default([]).describe('What is expected of the measures; a breach is an alert.'),
    slo: objectivesSchema.optional(),
  })
  .superRefine(refuseImpossibleChecks)
  .superRefine(refuseMissingParts)
  .superRefine(refuseDensityWithoutStore)
  .superRefine(refuseUnjudgeableTraffic)
  .superRefine(refuseIndexWithoutStore)
  .superRefine(refuseShadowWithoutParts);

/** A check of the drift watches with the defaults when `density` is left out. */
function refuseDensityWithoutStore(
  pipeline: { density?: unknown; vector_store?: unknown; checks: readonly object[] },
  context: z.RefinementCtx,
): void {
  if (pipeline.vector_store !== undefined) return;
  const isChecked = pipeline.checks.some((check) => 'density_drift' in check);
  if (pipeline.density === undefined && !isChecked) return;
  const message = `is missing; ${pipeline.density === undefined ? 'the check density_drift' : 'density'} needs it`;
  context.addIssue({ code: 'custom', path: ['vector_store'], message });
}

/**
 * A retriever that embeds and searches by itself stands on the pipeline's embedder and store, and a reranker on the
 * texts that its first stage gives.
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
    const message = `is missing; the retriever of kind ${retriever.kind} needs it`;
    context.addIssue({ code: 'custom', path: [part], message });
  }
  const path = retriever.kind === 'rerank' ? textFieldMissingIn(retriever.of, store) : null;
  if (path === null) return;
  const message = 'is missing; the reranker needs the texts of the documents';
  context.addIssue({ code: 'custom', path: [...path], message });
}
