/** `/v1/uncovered-topics`. */
import type { FastifyInstance } from 'fastify';
import {
  topicChangeSchema,
  topicJson,
  topicListQuery,
  topicParams,
} from '../contracts/http/uncovered-topic.ts';
import type { UncoveredTopic } from '../core/drift/topics/uncovered-topic.ts';
import { RecalldError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { UncoveredTopics } from '../ports/uncovered-topics.ts';
import { type AuthenticationSettings, requireScope } from './authentication.ts';
import { parseRequest } from './parse-request.ts';

export interface UncoveredTopicsDeps {
  readonly authentication: AuthenticationSettings;
  readonly clock: Clock;
  readonly topics: UncoveredTopics;
}

export function addUncoveredTopics(app: FastifyInstance, deps: UncoveredTopicsDeps): void {
  const { authentication, clock, topics } = deps;
  const readers = { preHandler: requireScope('read', authentication) };

  app.get('/v1/uncovered-topics', readers, async (request) => {
    const { pipeline, state, limit } = parseRequest(request.query, topicListQuery, 'query');
    const states = state === undefined ? (['open', 'acknowledged'] as const) : [state];
    const found = await topics.list({ states, limit, ...(pipeline === undefined ? {} : { pipeline }) });
    const items = await Promise.all(
      found.map(async (topic) => topicJson(topic, await topics.texts(topic.pipeline, topic.examples))),
    );
    return { items, next_cursor: null };
  });

  app.get('/v1/uncovered-topics/:id', readers, async (request) => {
    const { id } = parseRequest(request.params, topicParams, 'path');
    const topic = await findTopic(topics, id);
    const [texts, windows] = await Promise.all([
      topics.texts(topic.pipeline, topic.examples),
      topics.windows(topic.id),
    ]);
    return topicJson(topic, texts, windows);
  });

  app.post(
    '/v1/uncovered-topics/:id',
    { preHandler: requireScope('admin', authentication) },
    async (request) => {
      const { id } = parseRequest(request.params, topicParams, 'path');
      const { state, note = null } = parseRequest(request.body, topicChangeSchema, 'body');
      await topics.setState(id, state, note, clock.now());
      const topic = await findTopic(topics, id);
      return topicJson(topic, await topics.texts(topic.pipeline, topic.examples));
    },
  );
}

/** @throws RecalldError topic_unknown */
async function findTopic(topics: UncoveredTopics, id: string): Promise<UncoveredTopic> {
  const topic = await topics.find(id);
  if (topic !== null) return topic;
  throw new RecalldError('topic_unknown', 'There is no uncovered topic of that id.');
}
