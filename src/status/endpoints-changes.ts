/** Endpoints of deployments and erasure. */
import { z } from 'zod';
import { deploymentListQuery, deploymentSchema, newDeploymentSchema } from '../deployments/schema.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { pageOf } from '../http/paging.ts';
import { erasedQueryParams } from '../live/ingest-schema.ts';

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
    summary:
      'Erase a user: their live queries, their feedback, and feedback on their queries; what comes late of them, within a minute.',
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
    summary: 'Erase a live query and the feedback on it, also what comes late.',
    scope: 'admin',
    params: erasedQueryParams,
    body: null,
    responses: { '200': { description: 'What was erased.', body: erased } },
  },
];
