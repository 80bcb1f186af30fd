/** `/openapi.json`. */
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from '../contracts/http/openapi.ts';

export function addOpenApi(app: FastifyInstance, version: string): void {
  const document = openApiDocument(version);
  app.get('/openapi.json', () => document);
}
