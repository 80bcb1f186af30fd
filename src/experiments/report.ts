/** What is reported of shadows and variants: the JSON of routes and commands, from which pages, terminal and gauges are made. */
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
      '`golden:SET`; `judged`: live queries of which a judge grades both lists; `traffic`: what users make of the answers.',
    ),
  measure: z.string(),
  verdict,
  called_on: day.describe(
    'First day (UTC) on which it was a regression or an improvement; later ones do not take it back.',
  ),
  baseline: number,
  candidate: number,
  difference: number.describe('candidate - baseline'),
  ci_low: number.describe('Of a golden set 95 %, of the one test; else the bounds hold at every look.'),
  ci_high: number,
  n: z.int().describe('Golden questions, judged live queries, or sessions of the candidate.'),
  baseline_n: z.int().describe('The same for the baseline; of `traffic`, its own sessions.'),
  measured_until: z.iso.datetime().nullable().describe('End of the latest data.'),
  smallest_detectable_difference: number.describe('By now, with a chance of 0.8; null for `traffic`.'),
  evidence: z
    .object({
      state: z.enum(['decided', 'enough', 'days', 'more_questions', 'unknown']),
      days: z.int().nullable(),
      questions: z.int().nullable(),
      explanation: z.string(),
    })
    .nullable()
    .describe('When there is enough of it for `difference`; null for `traffic`.'),
  test: z
    .object({
      number: z.int().describe('From 1.'),
      version: z.int(),
      runs: z.int().describe('Pairs of runs that the questions are averaged over.'),
      p: z.number(),
      alpha: z.number().describe('Level of the test; all comparisons that ever come have 0.01 together.'),
      ci_method: z.string(),
      run_id: z.string(),
      baseline_run_id: z.string(),
      latency_p95_ms: number.describe('Of that run of the shadow.'),
      baseline_latency_p95_ms: number.describe('Of the run of the pipeline that it stands beside.'),
    })
    .nullable()
    .describe('On a golden set: the test that decided, else the latest.'),
  latest_run: z
    .object({ run_id: z.string(), status: z.string(), reason: z.string().nullable() })
    .nullable()
    .describe('Of the shadow on a golden set, whatever it came to.'),
  days: z.int().nullable().describe('With data; null for a golden set.'),
  left_out: z
    .int()
    .describe('Judged queries that the shadow failed, or of which a document could not be read or graded.'),
});

const candidateShape = {
  name: z.string().describe('Of the shadow, or of the arm.'),
  baseline: z.string().describe('The pipeline, or the first arm.'),
  verdict,
  explanation: z.string(),
  comparisons: z.array(comparisonSchema),
};

const share = z
  .object({ value: z.number(), ci_low: z.number(), ci_high: z.number(), n: z.int() })
  .nullable()
  .describe('By inverse probabilities, with 95 % bounds; null while nothing was asked.');

export const shadowReportSchema = z.object({
  pipeline: z.string(),
  ...candidateShape,
  difference: z.number().describe('Difference of nDCG that is to be found.'),
  live: z.object({
    days: z.int(),
    asked: z.int(),
    failed: z.int(),
    overlap: share,
    changed: share,
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
    verdict: z.enum(splitVerdicts).describe('`mismatch`: sessions are missing, so that there are no arms.'),
    explanation: z.string(),
    called_on: day,
    arms: z.array(z.object({ name: z.string(), sessions: z.int(), share: number, declared: z.number() })),
    mixed_sessions: z.int().describe('That saw more than one arm; in none.'),
    unnamed_sessions: z.int().describe('With a value of the tag that is no arm.'),
  }),
  difference: z.number().describe('That matters.'),
  confidence: z.number().describe('Of all bounds together, at all looks.'),
  arms: z.array(z.object(candidateShape)),
});

export type Comparison = z.infer<typeof comparisonSchema>;
export type ShadowReport = z.infer<typeof shadowReportSchema>;
export type VariantsReport = z.infer<typeof variantsReportSchema>;
/** A shadow, or an arm. */
export type Candidate = VariantsReport['arms'][number];
