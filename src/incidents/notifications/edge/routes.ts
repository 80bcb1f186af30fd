/** `/charts/ID-KEY.png`: the incident charts that messages link to. */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../../core/context.ts';
import { RecalldError } from '../../../core/errors.ts';
import { chartPath } from '../rules/message.ts';

/**
 * The key in the path authorizes the request, because receivers fetch images without a session. Charts show no query
 * text.
 */
export function addIncidentCharts(app: FastifyInstance, { db, hooks, hashKey }: Context): void {
  app.get('/charts/:name', async (request, reply) => {
    const { name } = request.params as { readonly name: string };
    const [, id] = /^(\d{1,18})-[0-9a-f]{64}\.png$/.exec(name) ?? [];
    // Verifies the key before it queries the database, so that a guessed key causes no query.
    const isKnown =
      id !== undefined && timingSafeEqual(Buffer.from(`/charts/${name}`), Buffer.from(chartPath(id, hashKey)));
    const incident = isKnown ? await db.incidents.find(id) : null;
    const image = incident === null ? null : await hooks.drawIncident(incident);
    if (image === null)
      throw new RecalldError(
        'incident_unknown',
        'This chart does not exist: the link is incomplete, or the incident was deleted.',
      );
    return reply.header('cache-control', 'private, max-age=60').type('image/png').send(Buffer.from(image));
  });
}
