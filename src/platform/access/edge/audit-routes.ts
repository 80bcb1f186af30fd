/** `/v1/audit`: recorded changes and who made them. */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { identifier, numberedPageShape, pageOf, parseRequest, timestamp, toPage } from '../../http/fields.ts';
import { type Endpoint, toWire } from '../../http/wire.ts';
import { acts } from '../audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../authentication.ts';
import type { ContextOf } from '../pipeline-access.ts';

const change = z.record(z.string(), z.unknown()).nullable();

const actSchema = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  by: z
    .string()
    .describe(
      "Author of the change. For an API call or a console form: the API key or the signed-in user (name and id), or `a user of this machine` if no key is needed, followed by the caller's address. For a command: the user and the host.",
    ),
  act: z.enum(acts),
  pipeline: z.string().nullable(),
  subject: z.string().describe('The changed object.'),
  before: change.describe('State before the change; null if the change created the object.'),
  after: change.describe('State after the change; null if the change deleted the object.'),
});

const auditQuery = z.strictObject({
  pipeline: identifier.optional().describe('Return only changes to this pipeline.'),
  since: timestamp.optional().describe('Return only changes since this time.'),
  ...numberedPageShape,
});

export const auditEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/audit',
    tag: 'changes',
    summary: 'List recorded changes, newest first.',
    scope: 'admin',
    pipelines: 'list',
    query: auditQuery,
    body: null,
    responses: { '200': { description: 'A page of changes.', body: pageOf(actSchema) } },
  },
];

export function addAudit(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  app.get('/v1/audit', { preParsing: requireScope('admin', authentication) }, async (request) => {
    const { pipeline, since, limit, cursor } = parseRequest(request.query, auditQuery, 'query');
    const filter = { pipeline, since: since === undefined ? undefined : new Date(since), beforeId: cursor, limit };
    return toPage(
      await contextOf(request).db.platform.auditLog.list(filter),
      limit,
      (act) => toWire(actSchema, act),
      ({ id }) => id,
    );
  });
}
