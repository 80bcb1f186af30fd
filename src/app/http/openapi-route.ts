/** `/openapi.json`. */
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from './openapi.ts';

export function addOpenApi(app: FastifyInstance, version: string): void {
  // The same bytes for everybody, however many do not take them.
  const document = Buffer.from(JSON.stringify(openApiDocument(version)));
  app.get('/openapi.json', (_request, reply) => reply.type('application/json; charset=utf-8').send(document));
}
