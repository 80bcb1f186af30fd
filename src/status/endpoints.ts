/** Endpoints that say how things stand, what was changed, and that erase. */

import { z } from 'zod';
import { checkListQuery, checkStateSchema, transitionListQuery, transitionSchema } from '../checks/routes.ts';
import { deploymentListQuery, deploymentSchema, newDeploymentSchema } from '../deployments/routes.ts';
import { incidentListQuery, incidentSchema } from '../diagnosis/routes.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { pageOf } from '../http/paging.ts';
import { erasedQueryParams } from '../live/ingest-schema.ts';
import {
  feedbackSummaryQuery,
  feedbackSummarySchema,
  pipelineListQuery,
  pipelineParams,
  pipelineStateSchema,
  pipelineStatusSchema,
} from './schema.ts';

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
        description: 'What was erased; `/v1/audit` keeps that it was done, not what was erased.',
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

export const statusEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/pipelines',
    tag: 'status',
    summary: 'Every pipeline of the config and how it stands.',
    scope: 'read',
    query: pipelineListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(pipelineStateSchema) } },
  },
  {
    method: 'get',
    path: '/v1/pipelines/{pipeline}/status',
    tag: 'status',
    summary: 'A pipeline at a glance: checks, golden sets, measurements, and what was changed of late.',
    scope: 'read',
    params: pipelineParams,
    body: null,
    responses: { '200': { description: 'How it stands.', body: pipelineStatusSchema } },
  },
  {
    method: 'get',
    path: '/v1/checks',
    tag: 'status',
    summary: 'Every check of the config with its latest verdict and the reason of it.',
    scope: 'read',
    query: checkListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(checkStateSchema) } },
  },
  {
    method: 'get',
    path: '/v1/incidents',
    tag: 'status',
    summary:
      'What was in alarm on pipelines and what was likely behind it, newest first; one that is not closed is open.',
    scope: 'read',
    query: incidentListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(incidentSchema) } },
  },
  {
    method: 'get',
    path: '/v1/checks/transitions',
    tag: 'status',
    summary: 'When checks changed their verdicts, from what to what, and why; newest first.',
    scope: 'read',
    query: transitionListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(transitionSchema) } },
  },
  {
    method: 'get',
    path: '/v1/feedback/summary',
    tag: 'status',
    summary: 'What users thought of the answers within the last hours, with bounds.',
    scope: 'read',
    query: feedbackSummaryQuery,
    body: null,
    responses: { '200': { description: 'By pipeline.', body: feedbackSummarySchema } },
  },
];
