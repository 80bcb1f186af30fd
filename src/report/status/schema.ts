/** `/v1/pipelines`, `/v1/checks` and `/v1/feedback/summary`: how things stand. */
import { z } from 'zod';
import { checkStateSchema } from '../../checks/edge/routes.ts';
import { baselineSchema } from '../../golden/endpoints.ts';
import { metricsSchema, runStatusField, verdictField } from '../../golden/run-summary-schema.ts';
import { deploymentSchema } from '../../live/deployments/edge/routes.ts';
import { feedbackKinds } from '../../live/rules/live-query.ts';
import { nameSchema } from '../../platform/config/connection.ts';
import { numberedPageShape } from '../../platform/http/fields.ts';

const age = z.number().describe('Seconds.');
const count = z.int().min(0);

export const pipelineParams = z.strictObject({ pipeline: nameSchema });

export const pipelineListQuery = z.strictObject(numberedPageShape);

const stateField = verdictField.describe(
  'The worst of its checks; no_data when something that must be fresh is not, never ok.',
);

export const pipelineStateSchema = z.object({
  pipeline: z.string(),
  state: stateField,
  reasons: z.array(z.string()).describe('Why it is not ok, worst first.'),
  unknowns: z.array(z.string()).describe('What is not known although nothing is wrong.'),
  golden_sets: z.array(
    z.object({
      golden_set: z.string(),
      cron: z.string().nullable().describe('Null: it runs by hand.'),
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
      age_seconds: age,
      too_old: z.boolean().describe('Older than three intervals of its schedule, three days for one by hand.'),
      metrics: metricsSchema.nullable().describe('Over all queries; withheld when they are too old to trust.'),
    })
    .nullable(),
  baseline: baselineSchema.nullable(),
});

const measurementSchema = z.object({
  measure: z.string(),
  segment: z.string(),
  value: z.number().nullable().describe('Withheld when it is too old to trust, or a later attempt came to nothing.'),
  ci_low: z.number().nullable(),
  ci_high: z.number().nullable(),
  ci_method: z.string().nullable(),
  n: count.nullable(),
  measured_at: z.iso.datetime().nullable().describe('When the last attempt was made.'),
  age_seconds: age,
  too_old: z.boolean(),
  gap: z.string().nullable().describe('Why the last attempt came to no value.'),
});

export const pipelineStatusSchema = z.object({
  pipeline: z.string(),
  at: z.iso.datetime(),
  state: stateField,
  reasons: z.array(z.string()).describe('Why it is not ok, worst first.'),
  unknowns: z.array(z.string()).describe('What is not known although nothing is wrong.'),
  checks: z.array(checkStateSchema),
  golden_sets: z.array(goldenSetStatusSchema),
  measurements: z.array(measurementSchema).describe('The latest of each series.'),
  deployments: z.array(deploymentSchema).describe('Of the last seven days, newest first, at most 100.'),
});

export const feedbackSummaryQuery = z.strictObject({
  pipeline: nameSchema.optional().describe('Only this pipeline.'),
  hours: z.coerce.number().int().min(1).max(168).default(24).describe('Length of the window that ends now.'),
});

const ratioSchema = z.object({
  positive: count,
  negative: count,
  n: count.describe('Opinions that are positive or negative.'),
  positive_ratio: z.number().nullable().describe('Null without an opinion.'),
  ci_low: z.number().nullable(),
  ci_high: z.number().nullable(),
  ci_method: z.literal('wilson'),
});

const bySegment = z.record(z.string(), ratioSchema).describe('By segment; `all` is always there.');

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
            feedback: count.describe('All of it, also what was changed later or is beyond a cap.'),
            positive: count,
            negative: count,
            neutral: count,
          }),
        )
        .describe('Latest opinions by kind; kinds that nobody sent are left out.'),
      opinions: z
        .object({ all: bySegment, explicit: bySegment, implicit: bySegment })
        .describe('By what they are taken from: every kind, what users said, what they did.'),
    }),
  ),
});
