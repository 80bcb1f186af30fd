/** `/v1/incidents`: what fired on pipelines, and what was likely behind it. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../../core/context.ts';
import { findPipeline } from '../../../golden/watched-pipeline.ts';
import { type AuthenticationSettings, requireScope } from '../../../platform/access/authentication.ts';
import { identifier, numberedPageShape, parseRequest, toPage } from '../../../platform/http/fields.ts';
import { incidentJson } from '../incident-schema.ts';

export const incidentListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Only those of this pipeline.'),
  ...numberedPageShape,
});

export function addIncidents(
  app: FastifyInstance,
  { db, pipelines }: Context,
  authentication: AuthenticationSettings,
): void {
  const read = { preParsing: requireScope('read', authentication) };

  app.get('/v1/incidents', read, async (request) => {
    const { pipeline, limit, cursor } = parseRequest(request.query, incidentListQuery, 'query');
    if (pipeline !== undefined) findPipeline(pipelines, pipeline);
    const found = await db.incidents.list({
      limit,
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    return toPage(found, limit, incidentJson, ({ id }) => id);
  });
}
