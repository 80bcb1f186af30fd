/** Erasure of a person or of a query. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type AuthenticationSettings, requireScope } from './authentication.ts';

export interface ErasureDeps {
  readonly authentication: AuthenticationSettings;
  eraseUser(userId: string): Promise<ErasureAnswer>;
  eraseQuery(queryId: string): Promise<ErasureAnswer>;
}

export interface ErasureAnswer {
  readonly queries: number;
  readonly feedback: number;
}

export function addErasure(app: FastifyInstance, deps: ErasureDeps): void {
  const options = { preHandler: requireScope('admin', deps.authentication) };
  app.delete<{ Params: { id: string } }>('/v1/users/:id', options, (request, reply) =>
    answer(reply, deps.eraseUser(request.params.id)),
  );
  app.delete<{ Params: { id: string } }>('/v1/queries/:id', options, (request, reply) =>
    answer(reply, deps.eraseQuery(request.params.id)),
  );
}

async function answer(reply: FastifyReply, erased: Promise<ErasureAnswer>): Promise<FastifyReply> {
  return reply.code(200).send({ erased: await erased });
}
