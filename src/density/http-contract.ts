import { z } from 'zod';
import { verdictField } from '../golden/run-summary-schema.ts';
import { identifier, idField, pageOf, pageQueryShape, shortText, timestamp } from '../platform/http/fields.ts';
import { type Endpoint, toWire } from '../platform/http/wire.ts';
import { topicCauses } from './rules/cause.ts';
import {
  judgedRelevance,
  type TopicWindow,
  topicName,
  topicStates,
  type UncoveredTopic,
} from './rules/uncovered-topic.ts';
import type { TopicsTable } from './topics-table.ts';

export const densityQuery = z.strictObject({
  pipeline: identifier.describe('Configured pipeline.'),
  segment: z.string().min(1).max(300).default('all').describe('`all`, or a segment as `key=value`.'),
  from: timestamp.optional().describe('Start of the series; default: 7 days ago.'),
  until: timestamp.optional().describe('End of the series; default: now.'),
});

export const rebaselineSchema = z.strictObject({
  pipeline: identifier.describe('Configured pipeline.'),
  reason: shortText.optional().describe('Short reason, stored with the event.'),
  since: timestamp
    .optional()
    .describe('Ignore traffic from before this time. If omitted, the new baseline uses the latest traffic.'),
});

const rebaselineAnswer = z.object({
  status: z
    .enum(['requested', 'unwatched'])
    .describe(
      '`requested`: recalld will learn a new baseline. `unwatched`: there is no baseline to replace, because query density has never been evaluated for the pipeline.',
    ),
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
    .describe('`watching` if live queries can be compared with a baseline.'),
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
    .describe('Progress toward a baseline; null once a baseline exists.'),
  incidents: z.record(z.string(), z.object({ opened_at: z.iso.datetime() })),
  closed_until: z.iso.datetime().nullable().describe('End of the latest closed window.'),
  check: z.object({ name: z.string(), verdict: verdictField, explanation: z.string() }).nullable(),
  outgrew_baseline: z
    .boolean()
    .describe(
      'True if density has been above 1.1 times the baseline for 14 days. If true, create a new baseline: with the current baseline, density could drop to its earlier level unnoticed.',
    ),
  measures: z
    .record(
      z.string(),
      z.object({
        latest: point.nullable(),
        no_data: z.object({ reason: z.string(), details: z.record(z.string(), z.unknown()) }).nullable(),
        series: z.array(point).describe('Points, oldest first; at most the latest 336 points of the period.'),
      }),
    )
    .describe('Latest values by measure, such as `query_density`.'),
  events: z.array(event).describe('The latest 50 events, newest first.'),
});

export type DensityAnswer = z.infer<typeof densityAnswer>;

const topicWindowSchema = z.object({
  window_end: z.iso.datetime(),
  sessions: z.int(),
  traffic_share: z.number().describe('Share of live traffic that belongs to the topic.'),
  excess_points: z.number().describe('Traffic share minus the share in the baseline, in percentage points.'),
  density: z.number().describe('Query density of the topic; 1 means the same coverage as in the baseline.'),
});

const topicSchema = topicWindowSchema.extend({
  id: z.string(),
  pipeline: z.string(),
  name: z.string().describe('Distinctive words of the queries; the topic id if texts are not stored.'),
  state: z.enum(topicStates),
  note: z.string().nullable(),
  cause: z
    .enum(topicCauses)
    .describe(
      '`new_demand`: users did not ask about the topic during the baseline period. `lost_content`: users asked about the topic during the baseline period, and the store covered it.',
    ),
  first_seen: z.iso.datetime(),
  last_seen: z.iso.datetime(),
  share_low: z.number().describe('Lower bound of the 95 % CI of traffic_share.'),
  share_high: z.number().describe('Upper bound of the 95 % CI of traffic_share.'),
  p: z.number().describe('Holm-adjusted p-value of the excess over the baseline share.'),
  examples: z
    .array(z.object({ query_id: z.string(), text: z.string().nullable() }))
    .describe('Most typical queries first; text is null if it is not stored.'),
  nearest_chunks: z.array(z.object({ id: z.string(), similarity: z.number() })),
  segments: z
    .array(z.object({ segment: z.string(), share: z.number() }))
    .describe('Segments that are overrepresented in the topic, each with its share of the queries in the topic.'),
  lost_chunks: z
    .array(z.string())
    .describe('Ids of chunks that similar baseline queries found, and that are now missing from the store.'),
  judged: z
    .object({ relevant_share: z.number(), ci_low: z.number(), ci_high: z.number(), n: z.int() })
    .nullable()
    .describe(
      'Share of relevant documents (grade 2 or 3) in the results of the n judged queries; null if no query is judged.',
    ),
  windows: z
    .array(topicWindowSchema)
    .optional()
    .describe('History of the topic, oldest first; only in the response for a single topic.'),
});

export const topicParams = z.strictObject({ id: idField });

export const topicListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Return only topics of this pipeline.'),
  state: z.enum(topicStates).optional().describe('States to return; default: open and acknowledged.'),
  limit: pageQueryShape.limit,
});

export const topicChangeSchema = z.strictObject({
  state: z.enum(topicStates),
  note: shortText.optional().describe('Reason, or planned action.'),
});

export function topicJson(
  topic: UncoveredTopic,
  texts: ReadonlyMap<string, string>,
  windows?: readonly TopicWindow[],
): z.infer<typeof topicSchema> {
  return toWire(topicSchema, {
    ...topic,
    name: topicName(topic),
    lastSeen: topic.windowEnd,
    p: topic.adjustedP,
    examples: topic.examples.map((id) => ({ queryId: id, text: texts.get(id) ?? null })),
    nearestChunks: topic.nearest.map(([id, similarity]) => ({ id, similarity })),
    segments: topic.segments.map(([segment, share]) => ({ segment, share })),
    judged: judgedRelevance(topic),
    windows,
  });
}

/** Returns a topic as JSON, with the stored texts of its examples. */
export async function describedTopic(topics: TopicsTable, topic: UncoveredTopic) {
  return topicJson(topic, await topics.texts(topic.pipeline, topic.examples));
}

export const densityEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/density',
    tag: 'density',
    summary: 'Query density of a pipeline: status, latest values, series and events.',
    scope: 'read',
    pipelines: 'named',
    query: densityQuery,
    body: null,
    responses: { '200': { description: 'Query density status.', body: densityAnswer } },
  },
  {
    method: 'post',
    path: '/v1/density/rebaseline',
    tag: 'density',
    summary: 'Discard the baseline and learn a new one, so that the current coverage becomes the standard.',
    scope: 'admin',
    pipelines: 'named',
    body: rebaselineSchema,
    responses: { '202': { description: 'A new baseline starts within a minute.', body: rebaselineAnswer } },
  },
  {
    method: 'get',
    path: '/v1/uncovered-topics',
    tag: 'density',
    summary: 'Topics that users ask about and that the store does not cover, largest first.',
    scope: 'read',
    pipelines: 'list',
    query: topicListQuery,
    body: null,
    responses: { '200': { description: 'The topics.', body: pageOf(topicSchema) } },
  },
  {
    method: 'get',
    path: '/v1/uncovered-topics/{id}',
    tag: 'density',
    summary: 'One uncovered topic with its history.',
    scope: 'read',
    pipelines: 'id',
    params: topicParams,
    body: null,
    responses: { '200': { description: 'The topic.', body: topicSchema } },
  },
  {
    method: 'post',
    path: '/v1/uncovered-topics/{id}',
    tag: 'density',
    summary: 'Acknowledge, close or reopen a topic.',
    scope: 'admin',
    pipelines: 'id',
    params: topicParams,
    body: topicChangeSchema,
    responses: { '200': { description: 'The changed topic.', body: topicSchema } },
  },
];
