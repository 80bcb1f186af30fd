/** `/v1/uncovered-topics`: what people ask that the store does not cover. */
import { z } from 'zod';
import { topicCauses } from '../../core/drift/cause/cause-reading.ts';
import {
  type TopicWindow,
  topicName,
  topicStates,
  type UncoveredTopic,
} from '../../core/drift/topics/uncovered-topic.ts';
import { identifier, idField, shortText } from './fields.ts';
import { pageQueryShape } from './paging.ts';

const topicWindowSchema = z.object({
  window_end: z.iso.datetime(),
  sessions: z.int(),
  traffic_share: z.number(),
  excess_points: z.number(),
  density: z.number(),
});

export const topicSchema = topicWindowSchema.extend({
  id: z.string(),
  pipeline: z.string(),
  name: z.string().describe('Distinctive words of its queries; the id where no texts are kept.'),
  state: z.enum(topicStates),
  note: z.string().nullable(),
  cause: z
    .enum(topicCauses)
    .describe('Nobody asked it in the baseline, or people asked it before and found it.'),
  first_seen: z.iso.datetime(),
  last_seen: z.iso.datetime(),
  share_low: z.number().describe('Lower 95 % bound of traffic_share.'),
  share_high: z.number().describe('Upper 95 % bound of traffic_share.'),
  p: z.number().describe('Holm-adjusted chance that the excess is luck.'),
  examples: z
    .array(z.object({ query_id: z.string(), text: z.string().nullable() }))
    .describe('Typical queries first; text is null where none is kept.'),
  nearest_chunks: z.array(z.object({ id: z.string(), similarity: z.number() })),
  segments: z
    .array(z.object({ segment: z.string(), share: z.number() }))
    .describe('Those with more of the topic than of the traffic, and their share of the topic.'),
  lost_chunks: z
    .array(z.string())
    .describe('Ids of chunks that baseline queries like it found and that are gone from the store.'),
  windows: z
    .array(topicWindowSchema)
    .optional()
    .describe('Its history, oldest first; of a single topic only.'),
});

export const topicParams = z.strictObject({ id: idField });

export const topicListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Only those of this pipeline.'),
  state: z.enum(topicStates).optional().describe('Left out, open and acknowledged ones.'),
  limit: pageQueryShape.limit,
});

export const topicChangeSchema = z.strictObject({
  state: z.enum(topicStates),
  note: shortText.optional().describe('Why, or what is being done.'),
});

export function topicJson(
  topic: UncoveredTopic,
  texts: ReadonlyMap<string, string>,
  windows?: readonly TopicWindow[],
): z.infer<typeof topicSchema> {
  return {
    ...windowJson(topic),
    id: topic.id,
    pipeline: topic.pipeline,
    name: topicName(topic),
    state: topic.state,
    note: topic.note,
    cause: topic.cause,
    first_seen: topic.firstSeen.toISOString(),
    last_seen: topic.windowEnd.toISOString(),
    share_low: topic.shareLow,
    share_high: topic.shareHigh,
    p: topic.adjustedP,
    examples: topic.examples.map((id) => ({ query_id: id, text: texts.get(id) ?? null })),
    nearest_chunks: topic.nearest.map(([id, similarity]) => ({ id, similarity })),
    segments: topic.segments.map(([segment, share]) => ({ segment, share })),
    lost_chunks: [...topic.lostChunks],
    ...(windows === undefined ? {} : { windows: windows.map(windowJson) }),
  };
}

function windowJson(window: TopicWindow): z.infer<typeof topicWindowSchema> {
  return {
    window_end: window.windowEnd.toISOString(),
    sessions: window.sessions,
    traffic_share: window.trafficShare,
    excess_points: window.excessPoints,
    density: window.density,
  };
}
