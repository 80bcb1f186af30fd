/** Transactions, locks between processes, and the error for a missing right. */
import type pg from 'pg';
import type { PoolClient } from 'pg';
import { RecalldError } from '../../core/errors.ts';

/**
 * Runs `work` in one transaction, which is rolled back if it throws.
 *
 * @throws RecalldError database_denied, and errors of `work`
 */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    // Sent with the first statement of the work.
    const begun = client.query('begin');
    begun.catch(() => undefined);
    const result = await work(client);
    await begun;
    await client.query('commit');
    return result;
  } catch (error) {
    // After a failover the connection may still lead to the former primary.
    broken = (error as { code?: unknown }).code === READ_ONLY;
    await client.query('rollback').catch(() => {
      broken = true;
    });
    throw deniedOf(error) ?? error;
  } finally {
    client.release(broken);
  }
}

/** SQLSTATE of a write in a read-only transaction. */
const READ_ONLY = '25006';

/**
 * Awaits a single statement outside a transaction.
 *
 * @throws RecalldError database_denied if the role lacks a right, and errors of the statement
 */
export async function orDenied<T>(statement: Promise<T>): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    throw deniedOf(error) ?? error;
  }
}

/** SQLSTATE of a missing right. */
const INSUFFICIENT_PRIVILEGE = '42501';

/** Returns the error for a missing right; null for any other error. */
function deniedOf(error: unknown): RecalldError | null {
  if (!(error instanceof Error) || !('code' in error) || error.code !== INSUFFICIENT_PRIVILEGE) return null;
  return new RecalldError(
    'database_denied',
    `The role of storage.url lacks a right in the database (${error.message}); run deploy/postgres/roles.sql and \`recalld migrate --grant\` (docs/how-to/security.md).`,
    { cause: error },
  );
}

/** Names of the locks that one transaction at a time holds, over all processes of the database. */
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
 * @param of distinguishes locks of the same name, such as those of several pipelines or golden sets
 */
export async function lockInTransaction(client: PoolClient, name: LockName, ...of: readonly string[]): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [
    `recalld ${JSON.stringify([name, ...of])}`,
  ]);
}
