/** `/v1/incidents`: firing alerts of pipelines and their likely causes over time. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../../core/context.ts';
import { findPipeline } from '../../../golden/watched-pipeline.ts';
import { type AuthenticationSettings, requireScope } from '../../../platform/access/authentication.ts';
import { identifier, numberedPageShape, parseRequest, toPage } from '../../../platform/http/fields.ts';
import { incidentJson } from '../incident-schema.ts';

export const incidentListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Only incidents of this pipeline.'),
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
