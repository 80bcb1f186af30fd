/** The schema of a run's summary and of a comparison, as `golden run --json` and `runs compare --json` print them. */
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
  ci_high: z.number().nullable().describe('Null for cg and dcg of a single query, which have no upper bound.'),
  ci_method: z.enum(['bca', 't', 'wilson']),
});

export const metricsSchema = z.record(z.string(), metricSchema).describe('By metric key such as `ndcg@10`.');

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
      '`reruns`: against the mean of the runs by which the baseline was pinned, by their noise. The others are paired, against the one run that is pinned.',
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
      'By which the verdict is found, where that is not `p_randomization`: it knows the noise of the retriever.',
    ),
  mcnemar_p: z.number().exactOptional().describe('Only of hit_rate.'),
  wins: count,
  losses: count,
  ties: count,
  verdict: comparisonVerdict,
});

const comparisonShape = {
  n: count.describe('Queries that are compared.'),
  metrics: z.record(z.string(), metricComparisonSchema),
  primary: z.string().describe('Metric key of the metric that decides; the others are its context.'),
  verdict: comparisonVerdict.describe('On the primary metric.'),
  smallest_detectable_difference: z.record(z.string(), z.number().nullable()),
};

const comparisonSchema = z.object(comparisonShape);

export const comparedShape = {
  run_id: z.string().describe('The run that is compared with.'),
  excluded: count.describe('Queries left out: a label of theirs is stale, or the set versions differ.'),
  advice: z.array(z.string()),
  ...comparisonShape,
  segments: z.record(z.string(), comparisonSchema).describe('The same by segment.'),
};

const comparedSchema = z.object(comparedShape);

/** What a regression check can see. */
export const detectableShape = {
  smallest_detectable_drop: z
    .number()
    .nullable()
    .describe('The drop that a regression check would find in one run with a chance of 0.8; null for other checks.'),
  blind: z.boolean().describe('Whether it passes although it would not find a drop of twice the size watched for.'),
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
  k: count.min(1).describe('Cut-off of the answer.'),
  n: count.describe('Questions with a relevant document whose answers tell of stages, and those that failed.'),
  failed: count,
  untold: count.describe('Answered without a word of any stage, and left out.'),
  lost_to_failures: metricSchema,
  steps: z
    .array(
      z.object({
        name: z.string().describe('Of the last one `answer`; `words and vectors` for two beside each other.'),
        recall: metricSchema.describe('Mean share of the relevant documents among all that it hands on.'),
        lost: metricSchema.describe('Mean share that it loses of what came before it; of the first, never found.'),
        moved: z
          .object({
            in: count.describe(
              'Questions without a relevant document among the first k before it, and with one after.',
            ),
            out: count,
            difference: z.number().describe('Hit rate after less before.'),
            ci_low: z.number(),
            ci_high: z.number(),
            p: z.number().describe('That it is luck, two-sided.'),
          })
          .nullable(),
        latency_p95_ms: z.number().nullable(),
        timed: count.describe('Answers that tell its time.'),
      }),
    )
    .describe('In the order in which they work.'),
});

export const runSummarySchema = z.object({
  run_id: z.string(),
  pipeline: z.string(),
  golden_set: z.string(),
  golden_set_version: z.int(),
  purpose: z.enum(['full', 'sentinel']).describe('The whole set, or a few queries that stand for it.'),
  status: runStatusField,
  reason: z.string().nullable().describe('Why it is void or failed, or why a sentinel fell.'),
  cause: z.string().nullable().describe('Why it runs outside its schedule.'),
  doubts: z.array(z.string()).describe('What its answers show to be a mistake of the config or of the set.'),
  provisional: z.boolean().describe('It goes on; metrics are those of the queries answered so far.'),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  queries: z.object({
    total: count,
    ok: count,
    empty: count,
    error: count,
    timeout: count,
    stale: count.nullable().describe('Queries whose every relevant document is superseded.'),
  }),
  failure: z
    .object({
      explanation: z.string().describe('One sentence with the error and the numbers.'),
      code: z.string().describe('Of the first error: `connection_refused`, `http_500`, `timeout`.'),
      queries: count.describe('Queries that failed in this way.'),
      others: count.describe('Queries that failed in another.'),
      not_asked: count.describe('Queries that were spared a retriever which is gone.'),
    })
    .nullable()
    .describe('The first real error and how often; null when no query failed.'),
  metrics: metricsSchema,
  segments: z.record(z.string(), metricsSchema).describe('The same by segment, such as `language=en`.'),
  labels: z.object({
    probed: count.nullable().describe('Judged documents that were looked up in the store.'),
    stale: count
      .nullable()
      .describe('Superseded: under another id, or deleted by the manifest. Their queries leave comparisons.'),
    lost: count.nullable().describe('Gone without anything in their place. They count 0 in comparisons.'),
    reason: z.string().nullable().describe('Why the store could not be probed.'),
  }),
  answers_gone_at: z.iso
    .datetime()
    .nullable()
    .describe('When its answers were deleted because they were old (`keep_answers`); null while they are there.'),
  forbidden: z
    .array(z.object({ query: z.string(), document: z.string(), rank: z.int().min(1) }))
    .describe('Forbidden documents that came back, asked twice, those at the top first.'),
  no_answer: z
    .object({
      false_answer_ratio: z.number().describe('Share of them that was answered, or failed.'),
      n: count,
      ci_low: z.number(),
      ci_high: z.number(),
      failed: count,
      answered: count,
      worst: z
        .array(z.object({ query: z.string(), documents: count, score: z.number().nullable() }))
        .describe('At most 50, most documents first, each with the highest score.'),
    })
    .nullable()
    .describe('The questions without an answer; null when the set has none, or while the run goes on.'),
  stages: stagesSchema
    .nullable()
    .describe('What the stages of the retriever keep and lose; null when it tells of none, or while the run goes on.'),
  baseline: comparedSchema.nullable().describe('Against the pinned baseline.'),
  deployment: comparedSchema.nullable().describe('Against the last run before the store or the model changed.'),
  checks: z.array(checkResultSchema),
  verdict: verdictField,
});

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

/** A mean with its bounds. */
export type MetricJson = DeepReadonly<z.infer<typeof metricSchema>>;
/** How one metric of two runs compares; a bound is null where there is none: dcg, when so few queries tell nothing. */
export type MetricComparisonJson = DeepReadonly<z.infer<typeof metricComparisonSchema>>;
/** What `compare --json` prints. */
export type ComparisonJson = DeepReadonly<z.infer<typeof comparisonSchema>>;
/** A run against another one. */
export type ComparedJson = DeepReadonly<z.infer<typeof comparedSchema>>;
/** What `golden run --json` and `runs show --json` print. */
export type RunSummaryJson = DeepReadonly<z.infer<typeof runSummarySchema>>;
