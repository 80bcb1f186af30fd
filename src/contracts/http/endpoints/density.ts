import { densityAnswer, densityQuery, rebaselineAnswer, rebaselineSchema } from '../density.ts';
import { pageOf } from '../paging.ts';
import { topicChangeSchema, topicListQuery, topicParams, topicSchema } from '../uncovered-topic.ts';
import type { Endpoint } from './endpoint.ts';

/** How well the store covers what people ask. */
export const densityEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/density',
    tag: 'density',
    summary: 'Query density of a pipeline: where its watch stands, latest values, series and events.',
    scope: 'read',
    query: densityQuery,
    body: null,
    responses: { '200': { description: 'What is known of it.', body: densityAnswer } },
  },
  {
    method: 'post',
    path: '/v1/density/rebaseline',
    tag: 'density',
    summary:
      'Drop the baseline and learn a new one from now on: the coverage of today becomes the one to keep.',
    scope: 'admin',
    body: rebaselineSchema,
    responses: { '202': { description: 'The next minute starts it.', body: rebaselineAnswer } },
  },
  {
    method: 'get',
    path: '/v1/uncovered-topics',
    tag: 'density',
    summary: 'What people ask that the store does not cover, largest first.',
    scope: 'read',
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
    params: topicParams,
    body: topicChangeSchema,
    responses: { '200': { description: 'The topic as it is now.', body: topicSchema } },
  },
];
