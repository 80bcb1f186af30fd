/** JSON reports on shadows and variants, from which pages, terminal output and gauges are rendered. */
import { z } from 'zod';
import { splitVerdicts } from './rules/arms.ts';
import { experimentVerdicts } from './rules/verdict.ts';

const number = z.number().nullable();
const day = z.iso.date().nullable();
const verdict = z.enum(experimentVerdicts);

const comparisonSchema = z.object({
  source: z
    .string()
    .describe(
      '`golden:SET`; `judged`: live queries for which a judge graded both lists; `traffic`: user feedback and clicks.',
    ),
  measure: z.string(),
  verdict,
  called_on: day.describe(
    'First day (UTC) with a verdict of regression or improvement; later days do not revoke the verdict.',
  ),
  baseline: number,
  candidate: number,
  difference: number.describe('Score of the candidate minus score of the baseline.'),
  ci_low: number.describe(
    'For a golden set, the lower bound of the 95 % CI of a single test; otherwise, a bound that is valid at every interim analysis.',
  ),
  ci_high: number,
  n: z.int().describe('For the candidate: number of golden queries, judged live queries or sessions.'),
  baseline_n: z.int().describe('For the baseline: number of golden queries, judged live queries or sessions.'),
  measured_until: z.iso.datetime().nullable().describe('End of the latest data.'),
  smallest_detectable_difference: number.describe(
    'Smallest difference that the current data detects with 80 % probability; null for `traffic`.',
  ),
  evidence: z
    .object({
      state: z.enum(['decided', 'enough', 'days', 'more_questions', 'unknown']),
      days: z.int().nullable(),
      questions: z.int().nullable(),
      explanation: z.string(),
    })
    .nullable()
    .describe(
      'Whether there is enough evidence to detect `difference` and, if not, when there will be enough; null for `traffic`.',
    ),
  test: z
    .object({
      number: z.int().describe('Sequence number of the test, starting at 1.'),
      version: z.int(),
      runs: z.int().describe('Number of run pairs over which the scores of each query are averaged.'),
      p: z.number(),
      alpha: z
        .number()
        .describe(
          'Significance level of the test; all comparisons of the shadow, including future ones, share a false positive rate of 0.01.',
        ),
      ci_method: z.string(),
      run_id: z.string(),
      baseline_run_id: z.string(),
      latency_p95_ms: number.describe('p95 latency of the shadow run.'),
      baseline_latency_p95_ms: number.describe('p95 latency of the pipeline run that the shadow run is compared with.'),
    })
    .nullable()
    .describe('For a golden set: the decisive test, or the latest test if none was decisive.'),
  latest_run: z
    .object({ run_id: z.string(), status: z.string(), reason: z.string().nullable() })
    .nullable()
    .describe('The latest run of the shadow on a golden set, regardless of its status.'),
  days: z.int().nullable().describe('Number of days with data; null for a golden set.'),
  left_out: z
    .int()
    .describe(
      'Number of judged queries that were excluded because the shadow failed, or because a document could not be read or graded.',
    ),
});

const candidateShape = {
  name: z.string().describe('Name of the shadow or the arm.'),
  baseline: z.string().describe('The pipeline, or the first arm.'),
  verdict,
  explanation: z.string(),
  comparisons: z.array(comparisonSchema),
};

const share = z.object({ value: z.number(), ci_low: z.number(), ci_high: z.number(), n: z.int() }).nullable();

export const shadowReportSchema = z.object({
  pipeline: z.string(),
  ...candidateShape,
  difference: z.number().describe('nDCG difference to detect.'),
  live: z.object({
    days: z.int(),
    asked: z.int(),
    failed: z.int(),
    overlap: share.describe(
      'Mean rank-biased overlap with the results that users got, weighted by inverse sampling probability; null before the first query.',
    ),
    changed: share.describe(
      'Share of live queries for which the shadow returns results that differ from those that users got, weighted by inverse sampling probability; null before the first query.',
    ),
    latency_ms: z.object({ median: z.number(), p95: z.number() }).nullable(),
  }),
  calls: z.object({
    today: z.int(),
    max_per_day: z.int(),
    max_live_per_day: z.int(),
    dollars_today: z.number(),
    dollars_per_1000: z.number(),
  }),
});

export const variantsReportSchema = z.object({
  pipeline: z.string(),
  tag: z.string(),
  first_day: day,
  last_day: day,
  split: z.object({
    verdict: z.enum(splitVerdicts).describe('`mismatch`: sessions are missing, so `arms` is empty.'),
    explanation: z.string(),
    called_on: day,
    arms: z.array(z.object({ name: z.string(), sessions: z.int(), share: number, declared: z.number() })),
    mixed_sessions: z
      .int()
      .describe('Number of sessions with queries in more than one arm. These sessions are excluded from every arm.'),
    unnamed_sessions: z.int().describe('Number of sessions whose tag value is not an arm in the config.'),
  }),
  difference: z.number().describe('Smallest relevant difference.'),
  confidence: z.number().describe('Probability that all bounds are valid at every interim analysis.'),
  arms: z.array(z.object(candidateShape)),
});

export type Comparison = z.infer<typeof comparisonSchema>;
export type ShadowReport = z.infer<typeof shadowReportSchema>;
export type VariantsReport = z.infer<typeof variantsReportSchema>;
/** A shadow or an arm. */
export type Candidate = VariantsReport['arms'][number];
