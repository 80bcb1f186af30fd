/** `GET /v1/isolation-violations`: live queries that returned documents forbidden by an isolation rule. */

import type { FastifyInstance } from 'fastify';
import { onReplica } from '../../core/context.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import { pageOf, parseRequest, toPage } from '../../platform/http/fields.ts';
import { type Endpoint, toWire } from '../../platform/http/wire.ts';
import { violationListQuery, violationSchema } from './isolation-schema.ts';

export const isolationEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/isolation-violations',
    tag: 'status',
    summary: 'Live queries whose results violate an isolation rule, newest first. The response contains no texts.',
    scope: 'read',
    pipelines: 'list',
    query: violationListQuery,
    body: null,
    responses: { '200': { description: 'A page of violations.', body: pageOf(violationSchema) } },
  },
];

export function addIsolation(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  app.get('/v1/isolation-violations', { preParsing: requireScope('read', authentication) }, async (request) => {
    const { pipeline, rule, limit, cursor } = parseRequest(request.query, violationListQuery, 'query');
    const context = contextOf(request);
    if (pipeline !== undefined) findPipeline(context.pipelines, pipeline);
    const found = await onReplica(context).db.live.isolation.list({ pipeline, rule, before: cursor, limit });
    return toPage(
      found,
      limit,
      (one) => toWire(violationSchema, one),
      ({ number }) => number,
    );
  });
}
