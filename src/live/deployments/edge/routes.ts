import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { findPipeline } from '../../../golden/watched-pipeline.ts';
import { keyHolder } from '../../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../../platform/access/authentication.ts';
import type { ContextOf } from '../../../platform/access/pipeline-access.ts';
import {
  identifier,
  numberedPageShape,
  parseRequest,
  shortText,
  timestamp,
  toPage,
} from '../../../platform/http/fields.ts';
import { toWire } from '../../../platform/http/wire.ts';
import { deploymentKinds } from '../rules/deployment.ts';

export const newDeploymentSchema = z.strictObject({
  pipeline: identifier.describe('Configured pipeline.'),
  kind: z.enum(deploymentKinds).describe('What changed.'),
  version: identifier.describe('The new version.'),
  note: shortText.optional().describe('Reason for the change.'),
  occurred_at: timestamp.optional().describe('When the change took effect; default: now.'),
});

export const deploymentSchema = z.object({
  id: z.string(),
  pipeline: z.string(),
  kind: z.enum(deploymentKinds),
  version: z.string(),
  note: z.string().nullable(),
  source: z
    .enum(['annotated', 'detected'])
    .describe('`annotated` if a user or a deployment tool recorded the change; `detected` if recalld detected it.'),
  occurred_at: z.iso.datetime(),
  changes: z
    .array(z.object({ trait: z.string(), before: z.string().nullable(), after: z.string().nullable() }))
    .describe('Changed traits that recalld detected; empty for an annotated deployment.'),
});

export const deploymentListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Return only deployments of this pipeline.'),
  ...numberedPageShape,
});

export function addDeployments(
  app: FastifyInstance,
  contextOf: ContextOf,
  authentication: AuthenticationSettings,
): void {
  app.post('/v1/deployments', { preParsing: requireScope('admin', authentication) }, async (request, reply) => {
    const { note = null, occurred_at: at, ...body } = parseRequest(request.body, newDeploymentSchema, 'body');
    const { db, clock, pipelines } = contextOf(request);
    findPipeline(pipelines, body.pipeline);
    const now = clock.now();
    const change = { ...body, note, occurredAt: at === undefined ? now : new Date(at) };
    const deployment = await db.live.deployments.annotate(change, keyHolder(request), now);
    return reply.code(201).send(toWire(deploymentSchema, deployment));
  });

  app.get('/v1/deployments', { preParsing: requireScope('read', authentication) }, async (request) => {
    const { pipeline, limit, cursor } = parseRequest(request.query, deploymentListQuery, 'query');
    const found = await contextOf(request).db.live.deployments.list({ pipeline, before: cursor, limit });
    return toPage(
      found,
      limit,
      (one) => toWire(deploymentSchema, one),
      ({ id }) => id,
    );
  });
}
