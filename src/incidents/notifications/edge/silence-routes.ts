/** `/v1/silences`: periods in which the messages and alerts of a pipeline are suppressed. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { findPipeline } from '../../../golden/watched-pipeline.ts';
import { apiActor } from '../../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../../platform/access/authentication.ts';
import type { ContextOf } from '../../../platform/access/pipeline-access.ts';
import { identifier, parseRequest, shortText, timestamp } from '../../../platform/http/fields.ts';
import { type Endpoint, toWire } from '../../../platform/http/wire.ts';
import { addSilence, endSilence } from '../silences.ts';

export const silenceSchema = z.object({
  id: z.string(),
  pipeline: z.string(),
  starts_at: z.iso.datetime(),
  ends_at: z.iso.datetime().describe('End of the silence (exclusive).'),
  reason: z.string(),
  created_at: z.iso.datetime(),
  created_by: z.string().describe('The API key or the person who added the silence.'),
});

const newSilence = z.strictObject({
  pipeline: identifier.describe('Name of a pipeline in the config.'),
  starts_at: timestamp.optional().describe('Start of the silence; default: now.'),
  ends_at: timestamp.describe('End of the silence, at most 90 days after its start.'),
  reason: shortText.describe('Reason for the silence, shown to other users.'),
});

const listQuery = z.strictObject({
  pipeline: identifier.optional().describe('Return only silences of this pipeline.'),
});

const params = z.strictObject({ id: z.string() });

const silenceList = z.object({ items: z.array(silenceSchema) });

const shared = { tag: 'incidents', scope: 'admin', body: null } as const;

export const silenceEndpoints: readonly Endpoint[] = [
  {
    ...shared,
    method: 'get',
    path: '/v1/silences',
    summary: 'Current and planned silences, sorted by start.',
    scope: 'read',
    pipelines: 'list',
    query: listQuery,
    responses: { '200': { description: 'All current and planned silences.', body: silenceList } },
  },
  {
    ...shared,
    method: 'post',
    path: '/v1/silences',
    summary: 'Silence a pipeline: suppress its messages and alerts.',
    pipelines: 'named',
    body: newSilence,
    responses: { '201': { description: 'The silence.', body: silenceSchema } },
  },
  {
    ...shared,
    method: 'delete',
    path: '/v1/silences/{id}',
    summary: 'End a silence now. recalld then sends messages about incidents that are still open.',
    pipelines: 'id',
    params,
    responses: { '200': { description: 'The ended silence.', body: silenceSchema } },
  },
];

export function addSilences(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  const read = { preParsing: requireScope('read', authentication) };
  const admin = { preParsing: requireScope('admin', authentication) };

  app.get('/v1/silences', read, async (request) => {
    const { pipeline } = parseRequest(request.query, listQuery, 'query');
    const { db, pipelines, clock } = contextOf(request);
    if (pipeline !== undefined) findPipeline(pipelines, pipeline);
    return toWire(silenceList, { items: await db.silences.endingAfter(clock.now(), pipeline ?? null) });
  });

  app.post('/v1/silences', admin, async (request, reply) => {
    const { pipeline, reason, starts_at: start, ends_at: end } = parseRequest(request.body, newSilence, 'body');
    const context = contextOf(request);
    const startsAt = start === undefined ? context.clock.now() : new Date(start);
    const silence = { pipeline, reason, startsAt, endsAt: new Date(end) };
    const added = await addSilence(context, silence, apiActor(request));
    return reply.code(201).send(toWire(silenceSchema, added));
  });

  app.delete('/v1/silences/:id', admin, async (request) => {
    const { id } = parseRequest(request.params, params, 'path');
    return toWire(silenceSchema, await endSilence(contextOf(request), id, apiActor(request)));
  });
}
