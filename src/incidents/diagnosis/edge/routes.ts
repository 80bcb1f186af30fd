/** `/v1/incidents`: firing alerts with their likely causes, and the actions of users on incidents. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../../core/context.ts';
import { RecalldError } from '../../../core/errors.ts';
import { findPipeline } from '../../../golden/watched-pipeline.ts';
import { apiActor } from '../../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../../platform/access/authentication.ts';
import type { ContextOf } from '../../../platform/access/pipeline-access.ts';
import {
  identifier,
  numberedPageShape,
  pageOf,
  parseRequest,
  shortText,
  toPage,
} from '../../../platform/http/fields.ts';
import { type Endpoint, toWire } from '../../../platform/http/wire.ts';
import type { Actor } from '../incident-acts.ts';
import { incidentJson, incidentSchema, reliabilitySchema } from '../incident-schema.ts';
import { causes } from '../rules/cause.ts';
import type { Incident } from '../rules/incident.ts';

const reliabilityQuery = z.strictObject({
  pipeline: identifier.optional().describe('Return only incidents of this pipeline.'),
});
const listQuery = reliabilityQuery.extend(numberedPageShape);

const params = z.strictObject({ id: z.string() });

const noteBody = z.strictObject({ text: shortText.refine((text) => text.trim() !== '', { error: 'is empty' }) });
const noteSchema = z.object({ text: z.string(), author: z.string().nullable(), created_at: z.iso.datetime() });

const markBody = z.strictObject({
  cause: z.enum(causes).describe('The diagnosed cause to mark as right or wrong.'),
  right: z.boolean().describe('True if the diagnosed cause was the actual cause.'),
  actual_cause: z.enum(causes).optional().describe('The actual cause.'),
});

const withNotes = incidentSchema.extend({ notes: z.array(noteSchema).describe('Notes, oldest first.') });

const changed = { '200': { description: 'The incident.', body: incidentSchema } };

const reading = { method: 'get', tag: 'incidents', scope: 'read', body: null } as const;
const acting = { method: 'post', tag: 'incidents', scope: 'admin', pipelines: 'id', params, body: null } as const;

export const incidentEndpoints: readonly Endpoint[] = [
  {
    ...reading,
    path: '/v1/incidents',
    summary: 'Incidents and their likely causes, newest first. An incident without `closed_at` is open.',
    pipelines: 'list',
    query: listQuery,
    responses: { '200': { description: 'One page of the list.', body: pageOf(incidentSchema) } },
  },
  {
    ...reading,
    path: '/v1/incidents/{id}',
    summary: 'An incident with its notes.',
    pipelines: 'id',
    params,
    responses: { '200': { description: 'The incident.', body: withNotes } },
  },
  {
    ...acting,
    path: '/v1/incidents/{id}/acknowledge',
    summary: 'Acknowledge an incident.',
    responses: changed,
  },
  {
    ...acting,
    path: '/v1/incidents/{id}/notes',
    summary: 'Add a note to an incident.',
    body: noteBody,
    responses: { '201': { description: 'The note.', body: noteSchema } },
  },
  {
    ...acting,
    path: '/v1/incidents/{id}/mark',
    summary: 'Mark the diagnosed cause of an incident as right or wrong.',
    body: markBody,
    responses: changed,
  },
  {
    ...reading,
    path: '/v1/incidents/reliability',
    summary: 'How often users marked the diagnosed cause as right, by confidence.',
    pipelines: 'list',
    query: reliabilityQuery,
    responses: { '200': { description: 'One item per confidence level.', body: reliabilitySchema } },
  },
];

export function addIncidents(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  const read = { preParsing: requireScope('read', authentication) };
  const admin = { preParsing: requireScope('admin', authentication) };

  app.get('/v1/incidents', read, async (request) => {
    const { pipeline, limit, cursor } = parseRequest(request.query, listQuery, 'query');
    const { db, pipelines } = contextOf(request);
    if (pipeline !== undefined) findPipeline(pipelines, pipeline);
    const found = await db.incidents.list({ pipeline, before: cursor, limit });
    return toPage(found, limit, incidentJson, ({ id }) => id);
  });

  app.get('/v1/incidents/reliability', read, async (request) => {
    const { pipeline = null } = parseRequest(request.query, reliabilityQuery, 'query');
    const { db, pipelines } = contextOf(request);
    if (pipeline !== null) findPipeline(pipelines, pipeline);
    return toWire(reliabilitySchema, { items: await db.incidents.reliability(pipeline) });
  });

  /** Returns the caller and the incident whose id is in the path. */
  const asked = async (request: FastifyRequest) => {
    const context = contextOf(request);
    const incident = await findIncident(context, parseRequest(request.params, params, 'path').id);
    return { context, incident, actor: apiActor(request) };
  };

  app.get('/v1/incidents/:id', read, async (request) => {
    const { context, incident } = await asked(request);
    const notes = (await context.db.live.annotations.of('incident', [incident.id])).get(incident.id) ?? [];
    return { ...incidentJson(incident), notes: notes.map((note) => toWire(noteSchema, note)) };
  });

  app.post('/v1/incidents/:id/acknowledge', admin, async (request) => {
    const { context, incident, actor } = await asked(request);
    await context.db.incidents.acknowledge(incident.id, actor, context.clock.now());
    return incidentJson(await findIncident(context, incident.id));
  });

  app.post('/v1/incidents/:id/notes', admin, async (request, reply) => {
    const { context, incident, actor } = await asked(request);
    const { text } = parseRequest(request.body, noteBody, 'body');
    const note = { text: text.trim(), author: actor.name, createdAt: context.clock.now() };
    await context.db.live.annotations.add({ subject: 'incident', subjectId: incident.id, ...note }, actor.by);
    return reply.code(201).send(toWire(noteSchema, note));
  });

  app.post('/v1/incidents/:id/mark', admin, async (request) => {
    const { context, incident, actor } = await asked(request);
    const { cause, right, actual_cause: actualCause = null } = parseRequest(request.body, markBody, 'body');
    return incidentJson(await markCause(context, incident.id, { cause, isRight: right, actualCause }, actor));
  });
}

/** @throws RecalldError incident_unknown */
export async function findIncident({ db }: Context, id: string): Promise<Incident> {
  const found = /^\d{1,18}$/.test(id) ? await db.incidents.find(id) : null;
  if (found === null)
    throw new RecalldError('incident_unknown', `There is no incident ${id}; see \`recalld incidents list\`.`);
  return found;
}

/** @throws RecalldError body_unreadable if the incident was never diagnosed with the cause */
export async function markCause(
  context: Context,
  id: string,
  mark: Parameters<Context['db']['incidents']['mark']>[1],
  actor: Actor,
): Promise<Incident> {
  if (!(await context.db.incidents.mark(id, mark, actor, context.clock.now())))
    throw new RecalldError(
      'body_unreadable',
      `Incident ${id} was never diagnosed with the cause ${mark.cause}; use its current cause, or the cause of an earlier diagnosis.`,
    );
  return findIncident(context, id);
}
