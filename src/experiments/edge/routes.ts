import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { onReplica } from '../../core/context.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import { identifier, parseRequest } from '../../platform/http/fields.ts';
import type { Endpoint } from '../../platform/http/wire.ts';
import { findVariants } from '../plan.ts';
import { findShadow, readShadow, readVariants } from '../read-reports.ts';
import { shadowReportSchema, variantsReportSchema } from '../report.ts';

const shadowsQuery = z.strictObject({
  pipeline: identifier.describe('Name of a pipeline in the config.'),
  shadow: identifier.optional().describe('Return only the shadow with this name.'),
});

const variantsQuery = z.strictObject({ pipeline: identifier.describe('Pipeline whose config has `variants`.') });

export const experimentEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/shadows',
    tag: 'experiments',
    summary: 'Reports whether the shadows of a pipeline are better or worse, and when there will be enough evidence.',
    scope: 'read',
    pipelines: 'named',
    query: shadowsQuery,
    body: null,
    responses: {
      '200': { description: 'One report per shadow.', body: z.object({ items: z.array(shadowReportSchema) }) },
    },
  },
  {
    method: 'get',
    path: '/v1/variants',
    tag: 'experiments',
    summary: 'Reports whether sessions are split between the variants as declared, and which variant users prefer.',
    scope: 'read',
    pipelines: 'named',
    query: variantsQuery,
    body: null,
    responses: { '200': { description: 'The report.', body: variantsReportSchema } },
  },
];

export function addExperiments(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings) {
  const read = { preParsing: requireScope('read', authentication) };

  app.get('/v1/shadows', read, async (request) => {
    const { pipeline: name, shadow } = parseRequest(request.query, shadowsQuery, 'query');
    const context = contextOf(request);
    const pipeline = findPipeline(context.pipelines, name);
    const wanted = shadow === undefined ? pipeline.shadows : [findShadow(pipeline, shadow)];
    const items = [];
    for (const one of wanted) items.push(await readShadow(onReplica(context), pipeline, one));
    return { items };
  });

  app.get('/v1/variants', read, async (request) => {
    const { pipeline } = parseRequest(request.query, variantsQuery, 'query');
    const context = contextOf(request);
    findPipeline(context.pipelines, pipeline);
    return readVariants(onReplica(context), findVariants(context.variantPlans, pipeline));
  });
}
