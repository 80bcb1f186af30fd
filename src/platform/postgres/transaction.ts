/** Transactions, the turns that they take across processes, and the sentence for a right that is lacking. */
import type pg from 'pg';
import type { PoolClient } from 'pg';
import { RecalldError } from '../../core/errors.ts';

/**
 * Runs `work` in one transaction: all of it is committed, or none when it throws.
 *
 * @throws RecalldError database_denied, and what `work` throws
 */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    // Goes out with the first statement of the work.
    const begun = client.query('begin');
    begun.catch(() => undefined);
    const result = await work(client);
    await begun;
    await client.query('commit');
    return result;
  } catch (error) {
    // After a failover the connection may still lead to the server that was the primary before.
    broken = (error as { code?: unknown }).code === READ_ONLY;
    await client.query('rollback').catch(() => {
      broken = true;
    });
    throw deniedOf(error) ?? error;
  } finally {
    client.release(broken);
  }
}

/** SQLSTATE of a write where only reads are allowed. */
const READ_ONLY = '25006';

/**
 * A single statement outside of a transaction, with the sentence for a right that our role lacks.
 *
 * @throws RecalldError database_denied, and what the statement rejects with
 */
export async function orDenied<T>(statement: Promise<T>): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    throw deniedOf(error) ?? error;
  }
}

/** SQLSTATE of a role that may not do what it asks for. */
const INSUFFICIENT_PRIVILEGE = '42501';

/** The sentence for a right that our role lacks; null for any other error. */
function deniedOf(error: unknown): RecalldError | null {
  if (!(error instanceof Error) || !('code' in error) || error.code !== INSUFFICIENT_PRIVILEGE) return null;
  return new RecalldError(
    'database_denied',
    `The role of storage.url lacks a right in the database (${error.message}); run deploy/postgres/roles.sql and \`recalld migrate --grant\` as docs/how-to/security.md says.`,
    { cause: error },
  );
}

/** What is done by one transaction at a time, over all processes of the database. */
type Turn =
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
 * Waits until no other transaction has this turn, and keeps it until the transaction ends.
 *
 * @param of names one of many, such as one pipeline or one golden set
 */
export async function lockInTransaction(client: PoolClient, turn: Turn, ...of: readonly string[]): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [
    `recalld ${JSON.stringify([turn, ...of])}`,
  ]);
}
