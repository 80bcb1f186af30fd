/** Routes under `/v1/pipelines`, and the descriptions of status, deployment and erasure endpoints. */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import {
  checkListQuery,
  checkStateOf,
  checkStateSchema,
  transitionListQuery,
  transitionSchema,
} from '../../checks/edge/routes.ts';
import { onReplica } from '../../core/context.ts';
import { metricsOf } from '../../golden/runs/score-json.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { deploymentListQuery, deploymentSchema, newDeploymentSchema } from '../../live/deployments/edge/routes.ts';
import { erasedQueryParams } from '../../live/ingest-schema.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import { pageOf, parseRequest, sliceAt } from '../../platform/http/fields.ts';
import { type Endpoint, toWire } from '../../platform/http/wire.ts';
import { type DetailedStatus, readDetailedStatus, readStatuses } from './read-status.ts';
import {
  feedbackSummaryQuery,
  feedbackSummarySchema,
  pipelineListQuery,
  pipelineParams,
  pipelineStateSchema,
  pipelineStatusSchema,
} from './schema.ts';

export function addPipelines(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  const read = { preParsing: requireScope('read', authentication) };

  app.get('/v1/pipelines', read, async (request) => {
    const page = parseRequest(request.query, pipelineListQuery, 'query');
    const { items, next_cursor } = sliceAt(await readStatuses(onReplica(contextOf(request))), page);
    return {
      items: items.map(({ pipeline, state, reasons, unknowns, golden }) => ({
        pipeline,
        state,
        reasons: reasons.map(({ sentence }) => sentence),
        unknowns,
        golden_sets: golden.map(({ goldenSet, cron }) => ({ golden_set: goldenSet, cron })),
      })),
      next_cursor,
    };
  });

  app.get('/v1/pipelines/:pipeline/status', read, async (request) => {
    const { pipeline } = parseRequest(request.params, pipelineParams, 'path');
    const context = contextOf(request);
    return statusJson(await readDetailedStatus(onReplica(context), findPipeline(context.pipelines, pipeline)));
  });
}

/** Values that are too old to trust are withheld. */
function statusJson({ at, checks, reasons, golden, runs, measurements, ...status }: DetailedStatus) {
  return toWire(pipelineStatusSchema, {
    ...status,
    at,
    reasons: reasons.map(({ sentence }) => sentence),
    checks: checks.map((check) => checkStateOf(check, at)),
    goldenSets: golden.map((set) => {
      const { latest, latestCompleted, baseline = null } = runs.find((one) => one.goldenSet === set.goldenSet) ?? {};
      return {
        ...set,
        latestRun: latest == null ? null : { ...latest, runId: latest.id },
        latestCompleted: set.completed && {
          ...set.completed,
          runId: latestCompleted?.id ?? null,
          tooOld: set.completed.isTooOld,
          metrics: set.completed.isTooOld ? null : metricsOf(set.completed.scores),
        },
        baseline,
      };
    }),
    measurements: measurements.map(({ newest, gap, isTooOld: tooOld, ...series }) => ({
      ...series,
      ...(gap === null && !tooOld && newest !== null ? newest : withheld),
      measuredAt: (gap ?? newest)?.measuredAt ?? null,
      ageSeconds: (gap ?? newest)?.ageSeconds ?? 0,
      tooOld,
      gap: gap?.reason ?? null,
    })),
  });
}

const withheld = { value: null, ciLow: null, ciHigh: null, ciMethod: null, n: null };

const count = z.int().min(0);

const erased = z.object({
  erased: z.object({ queries: count, feedback: count, golden_queries: count }),
});

const listed = { method: 'get', tag: 'status', scope: 'read', pipelines: 'list', body: null } as const;
const erasure = { method: 'delete', tag: 'privacy', scope: 'admin', pipelines: 'refused', body: null } as const;

export const changeEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/deployments',
    tag: 'changes',
    summary: 'Report a deployment: a change to an index, an embedding model, a retriever or a golden set.',
    scope: 'admin',
    pipelines: 'named',
    body: newDeploymentSchema,
    responses: { '201': { description: 'The recorded deployment.', body: deploymentSchema } },
  },
  {
    ...listed,
    path: '/v1/deployments',
    tag: 'changes',
    summary: 'Deployments that were reported or detected, newest first.',
    query: deploymentListQuery,
    responses: { '200': { description: 'One page of the list.', body: pageOf(deploymentSchema) } },
  },
  {
    ...erasure,
    path: '/v1/users/{id}',
    summary:
      "Erase a user's data: their live queries, their feedback, and feedback on their queries. recalld also erases data that arrives later, within a minute of its arrival.",
    responses: {
      '200': {
        description: 'Number of erased rows. `/v1/audit` records the erasure, but not the erased data.',
        body: erased,
      },
    },
  },
  {
    ...erasure,
    path: '/v1/queries/{id}',
    summary: 'Erase a live query and its feedback, including feedback that arrives later.',
    params: erasedQueryParams,
    responses: { '200': { description: 'Number of erased rows.', body: erased } },
  },
];

export const statusEndpoints: readonly Endpoint[] = [
  {
    ...listed,
    path: '/v1/pipelines',
    summary: 'Status of every pipeline in the config.',
    query: pipelineListQuery,
    responses: { '200': { description: 'One page of the list.', body: pageOf(pipelineStateSchema) } },
  },
  {
    ...listed,
    path: '/v1/pipelines/{pipeline}/status',
    summary: 'Status of a pipeline: checks, golden sets, measurements and recent deployments.',
    pipelines: 'named',
    params: pipelineParams,
    responses: { '200': { description: 'The status of the pipeline.', body: pipelineStatusSchema } },
  },
  {
    ...listed,
    path: '/v1/checks',
    summary: 'Every check in the config, with its latest verdict and the reason.',
    query: checkListQuery,
    responses: { '200': { description: 'One page of the list.', body: pageOf(checkStateSchema) } },
  },
  {
    ...listed,
    path: '/v1/checks/transitions',
    summary: 'Changes in check verdicts, with reasons, newest first.',
    query: transitionListQuery,
    responses: { '200': { description: 'One page of the list.', body: pageOf(transitionSchema) } },
  },
  {
    ...listed,
    path: '/v1/feedback/summary',
    summary: 'User feedback in a window that ends now, with 95 % confidence intervals.',
    query: feedbackSummaryQuery,
    responses: { '200': { description: 'Feedback per pipeline.', body: feedbackSummarySchema } },
  },
];
