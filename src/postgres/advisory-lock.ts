import type { PoolClient } from 'pg';

/** What is done by one transaction at a time, over all processes of the database. */
type Turn =
  | 'density baseline'
  | 'erasure'
  | 'golden baseline'
  | 'golden origins'
  | 'golden set'
  | 'partitions'
  | 'retriever'
  | 'rotation';

/**
 * Waits until no other transaction has this turn, and keeps it until the transaction ends.
 *
 * @param of names one of many, such as one pipeline or one golden set
 */
export async function takeTurn(client: PoolClient, turn: Turn, ...of: readonly string[]): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [
    `recalld ${JSON.stringify([turn, ...of])}`,
  ]);
}
