/** `/v1/incidents`: what fired on pipelines, and what was likely behind it. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AuthenticationSettings, requireScope } from '../../../platform/access/authentication.ts';
import { identifier, numberedPageShape, parseRequest, toPage } from '../../../platform/http/fields.ts';
import { incidentJson } from '../incident-schema.ts';
import type { Incidents } from '../incidents.ts';

export const incidentListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Only those of this pipeline.'),
  ...numberedPageShape,
});

export interface IncidentRouteDeps {
  readonly authentication: AuthenticationSettings;
  readonly incidents: Pick<Incidents, 'list'>;
  /** @throws RecalldError pipeline_unknown */
  assertPipeline(name: string): void;
}

export function addIncidents(app: FastifyInstance, deps: IncidentRouteDeps): void {
  const read = { preParsing: requireScope('read', deps.authentication) };

  app.get('/v1/incidents', read, async (request) => {
    const { pipeline, limit, cursor } = parseRequest(request.query, incidentListQuery, 'query');
    if (pipeline !== undefined) deps.assertPipeline(pipeline);
    const found = await deps.incidents.list({
      limit,
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    return toPage(found, limit, incidentJson, ({ id }) => id);
  });
}
