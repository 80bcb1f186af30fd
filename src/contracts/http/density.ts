/** `/v1/density`: how well the store covers live queries. */
import { z } from 'zod';
import { identifier, shortText, timestamp } from './fields.ts';
import { verdictField } from './run-summary.ts';

export const densityQuery = z.strictObject({
  pipeline: identifier.describe('Pipeline of the config.'),
  segment: z.string().min(1).max(300).default('all').describe('`all`, or `key=value` of a tag.'),
  from: timestamp.optional().describe('Start of the series; left out, 7 days ago.'),
  until: timestamp.optional().describe('End of the series; left out, now.'),
});

export const rebaselineSchema = z.strictObject({
  pipeline: identifier.describe('Pipeline of the config.'),
  reason: shortText.optional().describe('Why, in short; kept with the event.'),
  since: timestamp.optional().describe('Take no traffic from before then; left out, the latest there is.'),
});

export const rebaselineAnswer = z.object({
  status: z.enum(['requested', 'unwatched']).describe('`unwatched`: nothing was measured of it yet.'),
});

const point = z.object({
  window_start: z.iso.datetime(),
  window_end: z.iso.datetime(),
  value: z.number(),
  ci_low: z.number().nullable(),
  ci_high: z.number().nullable(),
  sessions: z.int(),
});

const event = z.object({
  id: z.string(),
  kind: z.enum(['page', 'ticket', 'resolve', 'reset', 'rebaseline']),
  occurred_at: z.iso.datetime(),
  sentence: z.string(),
  details: z.record(z.string(), z.unknown()),
});

export const densityAnswer = z.object({
  pipeline: z.string(),
  segment: z.string(),
  phase: z
    .enum(['unwatched', 'learning', 'replaying', 'watching'])
    .describe('Whether there is a baseline to hold live queries against.'),
  baseline: z
    .object({
      version: z.int(),
      grade: z.enum(['page', 'provisional']),
      days: z.number(),
      sessions: z.int(),
      until: z.iso.datetime(),
    })
    .nullable(),
  progress: z
    .object({
      days: z.number(),
      sessions: z.int(),
      needs: z.object({ days: z.number(), sessions: z.number() }),
    })
    .nullable()
    .describe('How far the traffic is from a baseline, while there is none.'),
  incidents: z.record(
    z.string(),
    z.object({ opened_at: z.iso.datetime(), scope: z.union([z.string(), z.int()]) }),
  ),
  closed_until: z.iso.datetime().nullable().describe('End of the latest closed window.'),
  check: z.object({ verdict: verdictField, explanation: z.string() }).nullable(),
  outgrew_baseline: z
    .boolean()
    .describe(
      'Density was above 1.1 times that of the baseline for 14 days: a later loss of the gain would not be seen, so make a new baseline.',
    ),
  measures: z
    .record(
      z.string(),
      z.object({
        latest: point.nullable(),
        no_data: z.object({ reason: z.string(), details: z.record(z.string(), z.unknown()) }).nullable(),
        series: z.array(point),
      }),
    )
    .describe('By name of the measure, such as `query_density`.'),
  events: z.array(event).describe('The latest 50, newest first.'),
});

export type DensityAnswer = z.infer<typeof densityAnswer>;
