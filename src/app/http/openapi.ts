/** Generates OpenAPI 3.1 from the list of endpoints. */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { complaintEndpoints } from '../../density/edge/routes.ts';
import { densityEndpoints } from '../../density/http-contract.ts';
import { experimentEndpoints } from '../../experiments/edge/routes.ts';
import { goldenEndpoints } from '../../golden/endpoints.ts';
import { incidentEndpoints } from '../../incidents/diagnosis/edge/routes.ts';
import { silenceEndpoints } from '../../incidents/notifications/edge/silence-routes.ts';
import { indexEndpoints } from '../../index/truth/edge/index-routes.ts';
import { judgingEndpoints } from '../../judging/edge/routes.ts';
import { isolationEndpoints } from '../../live/edge/isolation-routes.ts';
import { ingestEndpoints } from '../../live/edge/live-routes.ts';
import { mcpEndpoints } from '../../mcp/edge/mcp-routes.ts';
import { auditEndpoints } from '../../platform/access/edge/audit-routes.ts';
import { operationsEndpoints } from '../../platform/http/operations.ts';
import { type Endpoint, endpointTags } from '../../platform/http/wire.ts';
import { changeEndpoints, statusEndpoints } from '../../report/status/status-api.ts';

/** All endpoints of the HTTP API. /openapi.json and docs/reference/http.md are generated from this list. */
export const endpoints: readonly Endpoint[] = [
  ...ingestEndpoints,
  ...statusEndpoints,
  ...incidentEndpoints,
  ...isolationEndpoints,
  ...silenceEndpoints,
  ...goldenEndpoints,
  ...changeEndpoints,
  ...auditEndpoints,
  ...densityEndpoints,
  ...complaintEndpoints,
  ...judgingEndpoints,
  ...indexEndpoints,
  ...mcpEndpoints,
  ...experimentEndpoints,
  ...operationsEndpoints,
];

const problem = {
  description: 'A problem document (RFC 9457).',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'detail'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'Stable error code.' },
    detail: { type: 'string', description: 'The problem and its fix, in one sentence.' },
  },
};

export function openApiDocument(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints)
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'recalld',
      version,
      description: 'Receives live queries and feedback from RAG services, and reports their retrieval quality.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(endpointTags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { Problem: problemSchema },
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, created with `recalld keys create`.' },
      },
    },
  };
}

const statusesOfProblems = ['400', '401', '403', '404', '409', '413', '429', '503'] as const;

function operationOf(endpoint: Endpoint): Record<string, unknown> {
  const parameters = [...pathParameters(endpoint), ...queryParameters(endpoint)];
  const failures =
    endpoint.scope === null
      ? { '404': problem }
      : Object.fromEntries(statusesOfProblems.map((status) => [status, problem]));
  return {
    operationId: `${endpoint.method}${endpoint.path.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, letter: string | undefined) => (letter ?? '').toUpperCase())}`,
    summary: endpoint.summary,
    tags: [endpoint.tag],
    security: endpoint.scope === null ? [] : [{ apiKey: [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(endpoint.body === null
      ? {}
      : { requestBody: { required: true, content: jsonContent(endpoint.body, 'input') } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(endpoint.responses).map(([status, { description, body }]) => [
          status,
          body === null ? { description } : { description, content: jsonContent(body, 'output') },
        ]),
      ),
      ...failures,
    },
  };
}

function pathParameters({ path, params }: Endpoint): Record<string, unknown>[] {
  const schemas = params === undefined ? {} : propertiesOf(params);
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: schemas[name] ?? { type: 'string' },
  }));
}

function queryParameters({ query }: Endpoint): Record<string, unknown>[] {
  if (query === undefined) return [];
  return Object.entries(propertiesOf(query)).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema,
  }));
}

function propertiesOf(schema: z.ZodObject): Readonly<Record<string, object>> {
  const { properties = {} } = inlineSchema(schema, 'input') as { properties?: Record<string, object> };
  return properties;
}

function jsonContent(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  return { 'application/json': { schema: inlineSchema(schema, io) } };
}

/** Inlines every schema where it is used, to avoid dangling references. */
function inlineSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    reused: 'inline',
    unrepresentable: 'any',
    // A hand-written schema contains its JSON Schema in the key `wire`.
    override: ({ jsonSchema }) => {
      const { wire, ...rest } = jsonSchema as Record<string, unknown>;
      if (wire === undefined) return;
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
      Object.assign(jsonSchema, rest, wire);
    },
  });
  return json;
}

export function addOpenApi(app: FastifyInstance, version: string): void {
  // Generated on the first request, and then shared by all requests.
  let document: Buffer | null = null;
  app.get('/openapi.json', (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument(version)));
    return reply.type('application/json; charset=utf-8').send(document);
  });
}
