/** Endpoints that say how things stand. */

import { checkListQuery, checkStateSchema, transitionListQuery, transitionSchema } from '../checks/wire.ts';
import { diagnosisListQuery, diagnosisSchema } from '../diagnosis/schema.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { pageOf } from '../http/paging.ts';
import {
  feedbackSummaryQuery,
  feedbackSummarySchema,
  pipelineListQuery,
  pipelineParams,
  pipelineStateSchema,
  pipelineStatusSchema,
} from './pipeline-status-schema.ts';

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
    path: '/v1/diagnoses',
    tag: 'status',
    summary: 'What was likely behind the alarms of pipelines, newest first; one that is not closed holds.',
    scope: 'read',
    query: diagnosisListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(diagnosisSchema) } },
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
