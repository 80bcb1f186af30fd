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
  const answer = async (reply: FastifyReply, erased: Promise<ErasureAnswer>): Promise<FastifyReply> =>
    reply.code(200).send({ erased: await erased });
  app.delete<{ Params: { id: string } }>('/v1/users/:id', options, (request, reply) =>
    answer(reply, deps.eraseUser(request.params.id)),
  );
  app.delete<{ Params: { id: string } }>('/v1/queries/:id', options, (request, reply) =>
    answer(reply, deps.eraseQuery(request.params.id)),
  );
}
