import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import type { Context, Hooks } from '../../core/context.ts';
import { eraseGoldenQueries } from '../../golden/sql/golden-sets.ts';
import { erasedQueryParams } from '../../live/ingest-schema.ts';
import { textHash, userIdHmac } from '../../live/privacy/rules/redactor.ts';
import { type ErasureReport, type ErasureSubject, eraseLive } from '../../live/sql/erase-live.ts';
import { keyHolder, recordActs } from '../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import { parseRequest } from '../../platform/http/fields.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';

export function erase(pool: Pool, subject: ErasureSubject, by: string, now: Date): Promise<ErasureReport> {
  return inTransaction(pool, async (client) => {
    await lockInTransaction(client, 'erasure');
    const live = await eraseLive(client, subject, now);
    await eraseBaselineQueries(client, subject);
    const report = { ...live, goldenQueries: await eraseGoldenQueries(client, subject, now) };
    const { queries, feedback, goldenQueries: golden_queries } = report;
    const before = { queries, feedback, golden_queries };
    await recordActs(client, [
      { at: now, by, act: 'erase', pipeline: null, subject: subject.kind, before, after: null },
    ]);
    return report;
  });
}

/**
 * A density baseline retains its queries after they are deleted elsewhere, so an erasure must also delete them from the
 * baseline.
 */
async function eraseBaselineQueries(client: PoolClient, subject: ErasureSubject): Promise<void> {
  const [column, value] = subject.kind === 'user' ? ['user_hash', subject.userHash] : ['id', subject.id];
  await client.query(`delete from density_baseline_queries where ${column} = $1::text`, [value]);
}

/**
 * Adds the erasure endpoints. They need the hash key, because user ids, and query ids in golden sets, are stored only
 * as hashes.
 */
export function addErasure(
  app: FastifyInstance,
  pool: Pool,
  { hashKey, hooks }: Context,
  authentication: AuthenticationSettings,
): void {
  const options = { preParsing: requireScope('admin', authentication) };
  app.delete<{ Params: { id: string } }>('/v1/users/:id', options, (request, reply) => {
    const subject = { kind: 'user', userHash: userIdHmac(request.params.id, hashKey) } as const;
    return answer(reply, hooks, erase(pool, subject, keyHolder(request), new Date()));
  });
  app.delete('/v1/queries/:id', options, async (request, reply) => {
    const { id } = parseRequest(request.params, erasedQueryParams, 'path');
    const subject = { kind: 'query', id, idHash: textHash(id, hashKey) } as const;
    return answer(reply, hooks, erase(pool, subject, keyHolder(request), new Date()));
  });
}

async function answer(reply: FastifyReply, hooks: Hooks, erased: Promise<ErasureReport>): Promise<FastifyReply> {
  const { queries, feedback, goldenQueries } = await erased;
  hooks.refreshExport();
  return reply.code(200).send({ erased: { queries, feedback, golden_queries: goldenQueries } });
}
