/** Endpoints of deployments and erasure. */
import { z } from 'zod';
import { deploymentListQuery, deploymentSchema, newDeploymentSchema } from '../deployment.ts';
import { erasedQueryParams } from '../live-query.ts';
import { pageOf } from '../paging.ts';
import type { Endpoint } from './endpoint.ts';

const count = z.int().min(0);

const erased = z.object({
  erased: z.object({ queries: count, feedback: count, golden_queries: count }),
});

export const changeEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/deployments',
    tag: 'changes',
    summary: 'Annotate a change of an index, an embedding model, a retriever or a golden set.',
    scope: 'admin',
    body: newDeploymentSchema,
    responses: { '201': { description: 'Recorded.', body: deploymentSchema } },
  },
  {
    method: 'get',
    path: '/v1/deployments',
    tag: 'changes',
    summary: 'Changes that were annotated or detected, newest first.',
    scope: 'read',
    query: deploymentListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(deploymentSchema) } },
  },
  {
    method: 'delete',
    path: '/v1/users/{id}',
    tag: 'privacy',
    summary: 'Erase a user: their live queries, their feedback, and feedback on their queries.',
    scope: 'admin',
    body: null,
    responses: {
      '200': {
        description: 'What was erased; an audit row keeps that it was done, not what was erased.',
        body: erased,
      },
    },
  },
  {
    method: 'delete',
    path: '/v1/queries/{id}',
    tag: 'privacy',
    summary: 'Erase a live query and the feedback on it.',
    scope: 'admin',
    params: erasedQueryParams,
    body: null,
    responses: { '200': { description: 'What was erased.', body: erased } },
  },
];
