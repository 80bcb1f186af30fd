/** Schemas for run summaries and comparisons, as printed by `golden run --json` and `runs compare --json`. */
import { z } from 'zod';
import { runStatuses, severities, verdicts } from '../core/model.ts';
import { comparisonVerdicts } from './rules/verdict.ts';

export const verdictField = z.enum(verdicts);

export const severityField = z.enum(severities);

export const runStatusField = z.enum(runStatuses);

const count = z.int().min(0);

export const metricSchema = z.object({
  mean: z.number(),
  n: count,
  ci_low: z.number(),
  ci_high: z
    .number()
    .nullable()
    .describe(
      'Upper bound of the 95 % CI. Null for cg and dcg of a single query, because these measures have no upper limit.',
    ),
  ci_method: z.enum(['bca', 't', 'wilson']),
});

export const metricsSchema = z.record(z.string(), metricSchema).describe('Values by metric key such as `ndcg@10`.');

const comparisonVerdict = z.enum(comparisonVerdicts);

const metricComparisonSchema = z.object({
  baseline: z.number(),
  candidate: z.number(),
  difference: z.number(),
  ci_low: z.number().nullable(),
  ci_high: z.number().nullable(),
  ci_method: z
    .enum(['bca', 't', 'newcombe', 'reruns'])
    .describe(
      '`reruns`: compares the run with the mean of the pinned run and its reruns, and accounts for the noise between them. All other methods are paired comparisons with the pinned run only.',
    ),
  t: z.number().nullable(),
  df: z.number(),
  p_t: z.number(),
  p_randomization: z.number(),
  p_method: z.enum(['exact', 'monte_carlo']),
  p: z
    .number()
    .exactOptional()
    .describe(
      'The p-value that decides the verdict and accounts for retriever noise; omitted if `p_randomization` decides the verdict.',
    ),
  mcnemar_p: z.number().exactOptional().describe("p-value of McNemar's exact test; only for hit_rate and all_found."),
  wins: count,
  losses: count,
  ties: count,
  verdict: comparisonVerdict,
});

const comparisonShape = {
  n: count.describe('Number of compared queries.'),
  metrics: z.record(z.string(), metricComparisonSchema),
  primary: z.string().describe('Key of the metric that decides the verdict; the other metrics are context.'),
  verdict: comparisonVerdict.describe('Verdict on the primary metric.'),
  smallest_detectable_difference: z.record(z.string(), z.number().nullable()),
};

const comparisonSchema = z.object(comparisonShape);

export const comparedShape = {
  run_id: z.string().describe('The baseline run.'),
  excluded: count.describe(
    'Number of queries excluded because they have a stale label, or because they differ between the set versions.',
  ),
  advice: z.array(z.string()),
  ...comparisonShape,
  segments: z.record(z.string(), comparisonSchema).describe('The comparison by segment.'),
};

const comparedSchema = z.object(comparedShape);

/** Fields that describe which drops a regression check can detect. */
export const detectableShape = {
  smallest_detectable_drop: z
    .number()
    .nullable()
    .describe(
      'Smallest drop that a regression check detects in one run with a probability of 0.8; null for other checks.',
    ),
  blind: z.boolean().describe('True if the check passes but could miss a drop twice as large as its threshold.'),
};

export const checkResultSchema = z.object({
  name: z.string(),
  severity: severityField,
  verdict: verdictField,
  value: z.number().nullable(),
  threshold: z.number(),
  ...detectableShape,
  explanation: z.string().describe('One sentence with the numbers behind the verdict.'),
});

const stagesSchema = z.object({
  k: count.min(1).describe('Cutoff of the final results.'),
  n: count.describe(
    'Number of queries that have a relevant document and whose responses report stages, plus failed queries.',
  ),
  failed: count,
  unreported: count.describe('Number of queries excluded because their responses report no stages.'),
  lost_to_failures: metricSchema,
  steps: z
    .array(
      z.object({
        name: z
          .string()
          .describe(
            'Name of the stage; `answer` for the final results. The names of parallel stages are joined: `words and vectors`.',
          ),
        recall: metricSchema.describe('Mean share of the relevant documents that the step passes on.'),
        lost: metricSchema.describe(
          'Mean share of the relevant documents that are lost in this step, because the previous step is the last step that returns them. For the first step: documents that no step returns.',
        ),
        moved: z
          .object({
            in: count.describe(
              'Number of queries that have no relevant document in the top k before the step, but have one after it.',
            ),
            out: count,
            difference: z.number().describe('Hit rate after the step minus the hit rate before it.'),
            ci_low: z.number(),
            ci_high: z.number(),
            p: z.number().describe('Two-sided p-value of the difference.'),
          })
          .nullable(),
        latency_p95_ms: z.number().nullable(),
        timed: count.describe('Number of responses that report the duration of the stage.'),
      }),
    )
    .describe('Steps in the order of execution.'),
});

export const runSummarySchema = z.object({
  run_id: z.string(),
  pipeline: z.string(),
  golden_set: z.string(),
  golden_set_version: z.int(),
  purpose: z
    .enum(['full', 'sentinel'])
    .describe('`full`: all queries of the set; `sentinel`: a few representative queries.'),
  status: runStatusField,
  reason: z.string().nullable().describe('Why the run is void or failed, or why a sentinel failed.'),
  cause: z.string().nullable().describe('Why the run started outside its schedule.'),
  warnings: z
    .array(z.string())
    .describe('Likely mistakes in the config or the set, detected in the results; one sentence each.'),
  provisional: z
    .boolean()
    .describe('True while the run is in progress; metrics then cover only the queries that have been run so far.'),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  queries: z.object({
    total: count,
    ok: count,
    empty: count,
    error: count,
    timeout: count,
    stale: count.nullable().describe('Number of queries whose relevant documents are all superseded or deleted.'),
  }),
  failure: z
    .object({
      explanation: z.string().describe('One sentence that states the error and the number of affected queries.'),
      code: z.string().describe('Code of the first error, such as `connection_refused`, `http_500` or `timeout`.'),
      queries: count.describe('Number of queries that failed with this code.'),
      others: count.describe('Number of queries that failed with another code.'),
      not_asked: count.describe('Number of queries that were not sent because the retriever was down.'),
    })
    .nullable()
    .describe('The first error, and the number of queries that failed with the same code; null if no query failed.'),
  metrics: metricsSchema,
  segments: z.record(z.string(), metricsSchema).describe('Metrics by segment, such as `language=en`.'),
  labels: z.object({
    probed: count.nullable().describe('Number of judged documents that were looked up in the store.'),
    stale: count
      .nullable()
      .describe(
        'Number of judged documents with stale labels: superseded documents, whose text is in the store under another id, and documents that the manifest lists as deleted. Their queries are excluded from comparisons.',
      ),
    deleted: count
      .nullable()
      .describe('Number of missing judged documents that the manifest lists as deleted; `stale` includes them.'),
    lost: count
      .nullable()
      .describe(
        'Number of documents that are missing from the store, have no replacement and are not deleted in the manifest. These documents count as not found in scores and comparisons.',
      ),
    reason: z.string().nullable().describe('Why the store could not be probed.'),
  }),
  answers_deleted_at: z.iso
    .datetime()
    .nullable()
    .describe(
      'Time at which the results were deleted because the retention time (`keep_answers`) had passed; null while the results exist.',
    ),
  forbidden: z
    .array(z.object({ query: z.string(), document: z.string(), rank: z.int().min(1) }))
    .describe('Forbidden documents that the retriever returned and a second request confirmed, sorted by rank.'),
  no_answer: z
    .object({
      false_answer_ratio: z
        .number()
        .describe('Share of the unanswerable queries for which the retriever failed or returned documents.'),
      n: count,
      ci_low: z.number(),
      ci_high: z.number(),
      failed: count,
      answered: count,
      worst: z
        .array(z.object({ query: z.string(), documents: count, score: z.number().nullable() }))
        .describe(
          'Unanswerable queries for which the retriever returned documents, at most 50, in descending order of the number of documents. `score` is the highest score of the documents.',
        ),
    })
    .nullable()
    .describe(
      'Results of the unanswerable queries; null if the set has no such queries, or while the run is in progress.',
    ),
  stages: stagesSchema
    .nullable()
    .describe(
      'Relevant documents that each retriever stage keeps and loses; null if the retriever reports no stages, or while the run is in progress.',
    ),
  baseline: comparedSchema.nullable().describe('Comparison with the pinned baseline.'),
  deployment: comparedSchema
    .nullable()
    .describe('Comparison with the previous run; null unless the store or the model has changed since then.'),
  checks: z.array(checkResultSchema),
  verdict: verdictField,
});

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

export type MetricJson = DeepReadonly<z.infer<typeof metricSchema>>;
/**
 * JSON of a metric comparison. For cg and dcg of a single query, the bounds are null, because they cannot be computed
 * from one query.
 */
export type MetricComparisonJson = DeepReadonly<z.infer<typeof metricComparisonSchema>>;
export type ComparisonJson = DeepReadonly<z.infer<typeof comparisonSchema>>;
export type ComparedJson = DeepReadonly<z.infer<typeof comparedSchema>>;
export type RunSummaryJson = DeepReadonly<z.infer<typeof runSummarySchema>>;
