/** Transactions, locks that apply across processes, and the error for a missing privilege. */
import type pg from 'pg';
import type { PoolClient } from 'pg';
import { codeOf, messageOf, RecalldError } from '../../core/errors.ts';

/**
 * Runs `work` in one transaction, which is rolled back if `work` throws.
 *
 * @throws RecalldError database_denied, and errors from `work`
 */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    // `begin` is sent together with the first statement in `work`.
    const begun = client.query('begin');
    begun.catch(() => undefined);
    const result = await work(client);
    await begun;
    await client.query('commit');
    return result;
  } catch (error) {
    // After a failover, the connection may still lead to the former primary.
    broken = codeOf(error) === READ_ONLY;
    await client.query('rollback').catch(() => {
      broken = true;
    });
    throw deniedOf(error) ?? error;
  } finally {
    client.release(broken);
  }
}

/** SQLSTATE for a write in a read-only transaction. */
const READ_ONLY = '25006';

/**
 * Awaits a single statement outside a transaction.
 *
 * @throws RecalldError database_denied if the role lacks a privilege; otherwise, the statement's own error
 */
export async function orDenied<T>(statement: Promise<T>): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    throw deniedOf(error) ?? error;
  }
}

/** SQLSTATE for a missing privilege. */
const INSUFFICIENT_PRIVILEGE = '42501';

/** Returns the error for a missing privilege; null for any other error. */
function deniedOf(error: unknown): RecalldError | null {
  if (codeOf(error) !== INSUFFICIENT_PRIVILEGE) return null;
  return new RecalldError(
    'database_denied',
    `The role in storage.url lacks a privilege in the database (${messageOf(error)}); run deploy/postgres/roles.sql and \`recalld migrate --grant\` (docs/how-to/security.md).`,
    { cause: error },
  );
}

/** Names of locks that only one transaction may hold at a time, across all processes that use the database. */
type LockName =
  | 'configured parts'
  | 'density baseline'
  | 'erasure'
  | 'golden baseline'
  | 'golden origins'
  | 'golden set'
  | 'judging'
  | 'partitions'
  | 'retriever'
  | 'rotation';

/**
 * Waits for an advisory lock and holds it until the transaction ends.
 *
 * @param of strings that distinguish locks with the same name, such as a pipeline or a golden set
 */
export async function lockInTransaction(client: PoolClient, name: LockName, ...of: readonly string[]): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [
    `recalld ${JSON.stringify([name, ...of])}`,
  ]);
}
