/** Erasure of a person or of a query. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { parseRequest } from '../http/fields.ts';
import { erasedQueryParams } from '../live/schema/live-query.ts';

export interface ErasureDeps {
  readonly authentication: AuthenticationSettings;
  eraseUser(userId: string): Promise<ErasureAnswer>;
  eraseQuery(queryId: string): Promise<ErasureAnswer>;
}

export interface ErasureAnswer {
  readonly queries: number;
  readonly feedback: number;
  readonly goldenQueries: number;
}

export function addErasure(app: FastifyInstance, deps: ErasureDeps): void {
  const options = { preParsing: requireScope('admin', deps.authentication) };
  app.delete<{ Params: { id: string } }>('/v1/users/:id', options, (request, reply) =>
    answer(reply, deps.eraseUser(request.params.id)),
  );
  app.delete('/v1/queries/:id', options, async (request, reply) => {
    const { id } = parseRequest(request.params, erasedQueryParams, 'path');
    return answer(reply, deps.eraseQuery(id));
  });
}

async function answer(reply: FastifyReply, erased: Promise<ErasureAnswer>): Promise<FastifyReply> {
  const { queries, feedback, goldenQueries } = await erased;
  return reply.code(200).send({ erased: { queries, feedback, golden_queries: goldenQueries } });
}
