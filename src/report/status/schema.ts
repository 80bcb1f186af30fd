/** Schemas of `/v1/pipelines` and `/v1/feedback/summary`. */
import { z } from 'zod';
import { checkStateSchema } from '../../checks/edge/routes.ts';
import { baselineSchema } from '../../golden/endpoints.ts';
import { metricsSchema, runStatusField, verdictField } from '../../golden/run-summary-schema.ts';
import { deploymentSchema } from '../../live/deployments/edge/routes.ts';
import { feedbackKinds } from '../../live/rules/live-query.ts';
import { nameSchema } from '../../platform/config/connection.ts';
import { numberedPageShape } from '../../platform/http/fields.ts';

const age = z.number();
const count = z.int().min(0);

export const pipelineParams = z.strictObject({ pipeline: nameSchema });

export const pipelineListQuery = z.strictObject(numberedPageShape);

const stateShape = {
  state: verdictField.describe(
    'Worst verdict of the checks; `no_data`, never `ok`, while required data is missing or too old.',
  ),
  reasons: z.array(z.string()).describe('Reasons why the pipeline is not ok, worst first.'),
  unknowns: z
    .array(z.string())
    .describe('Missing data that does not change the state, such as the value of a check with too little traffic.'),
};

export const pipelineStateSchema = z.object({
  pipeline: z.string(),
  ...stateShape,
  golden_sets: z.array(
    z.object({
      golden_set: z.string(),
      cron: z
        .string()
        .nullable()
        .describe('Cron expression of the schedule; null for a set that is run only manually.'),
    }),
  ),
});

const goldenSetStatusSchema = z.object({
  golden_set: z.string(),
  cron: z.string().nullable(),
  latest_run: z
    .object({
      run_id: z.string(),
      status: runStatusField,
      reason: z.string().nullable(),
      started_at: z.iso.datetime(),
    })
    .nullable(),
  latest_completed: z
    .object({
      run_id: z.string().nullable(),
      finished_at: z.iso.datetime(),
      age_seconds: age.describe('Seconds since the run ended.'),
      too_old: z
        .boolean()
        .describe(
          'True if the run is older than three intervals of its schedule, or older than three days for a set that is run manually.',
        ),
      metrics: metricsSchema.nullable().describe('Scores over all queries; null if they are too old to trust.'),
    })
    .nullable(),
  baseline: baselineSchema.nullable(),
});

const measurementSchema = z.object({
  measure: z.string(),
  segment: z.string(),
  value: z
    .number()
    .nullable()
    .describe('Latest value; null if it is too old to trust, or if a later measurement failed.'),
  ci_low: z.number().nullable(),
  ci_high: z.number().nullable(),
  ci_method: z.string().nullable(),
  n: count.nullable(),
  measured_at: z.iso.datetime().nullable().describe('When the last measurement was attempted.'),
  age_seconds: age.describe('Seconds since the measurement.'),
  too_old: z.boolean(),
  gap: z.string().nullable().describe('Why the last measurement produced no value; null if it produced a value.'),
});

export const pipelineStatusSchema = z.object({
  pipeline: z.string(),
  at: z.iso.datetime(),
  ...stateShape,
  checks: z.array(checkStateSchema),
  golden_sets: z.array(goldenSetStatusSchema),
  measurements: z.array(measurementSchema).describe('Latest measurement of each series.'),
  deployments: z.array(deploymentSchema).describe('Deployments of the last seven days, newest first, at most 100.'),
});

export const feedbackSummaryQuery = z.strictObject({
  pipeline: nameSchema.optional().describe('Return only feedback for this pipeline.'),
  hours: z.coerce
    .number()
    .int()
    .min(1)
    .max(168)
    .default(24)
    .describe('Length of the window in hours; the window ends now.'),
});

const ratioSchema = z.object({
  positive: count,
  negative: count,
  n: count.describe('Number of positive and negative opinions.'),
  positive_ratio: z.number().nullable().describe('Share of positive opinions; null if there are no opinions.'),
  ci_low: z.number().nullable(),
  ci_high: z.number().nullable(),
  ci_method: z.literal('wilson'),
});

const bySegment = z.record(z.string(), ratioSchema).describe('Counts by segment; `all` is always present.');

export const feedbackSummarySchema = z.object({
  from: z.iso.datetime(),
  until: z.iso.datetime(),
  pipelines: z.array(
    z.object({
      pipeline: z.string(),
      kinds: z
        .array(
          z.object({
            kind: z.enum(feedbackKinds),
            feedback: count.describe(
              'Number of feedback items received, including items that were later changed or that exceed a limit.',
            ),
            positive: count,
            negative: count,
            neutral: count,
          }),
        )
        .describe(
          'Feedback by kind; kinds without feedback are omitted. `positive`, `negative` and `neutral` count only the latest feedback per user and query.',
        ),
      opinions: z
        .object({ all: bySegment, explicit: bySegment, implicit: bySegment })
        .describe(
          'Counts by source: all feedback, explicit feedback (user ratings) and implicit feedback (user actions).',
        ),
    }),
  ),
});
