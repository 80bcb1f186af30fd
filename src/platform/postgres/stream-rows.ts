/** Streams the rows of a statement, so that a long history need not fit in memory. */
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { orAborted } from '../threads/wait.ts';
import { namingOutage } from './outage.ts';

const ROWS_AT_A_TIME = 500;

/**
 * Yields all rows of a statement as of its start, in batches from a cursor.
 *
 * @throws RecalldError database_unreachable; `signal.reason` as soon as the signal aborts
 */
export async function* streamRows<Row extends QueryResultRow>(
  pool: Pool,
  statement: string,
  values: readonly unknown[],
  signal: AbortSignal,
): AsyncGenerator<readonly Row[]> {
  signal.throwIfAborted();
  const client = await namingOutage(pool, () => pool.connect());
  let isOpen = true;
  const ask = (text: string, parameters: readonly unknown[] = []) =>
    namingOutage(pool, () => orAborted(client.query<Row>(text, [...parameters]), signal));
  try {
    await ask('begin read only');
    await ask(`declare streamed no scroll cursor for ${statement}`, values);
    for (;;) {
      const { rows } = await ask(`fetch ${ROWS_AT_A_TIME} from streamed`);
      if (rows.length > 0) yield rows;
      if (rows.length < ROWS_AT_A_TIME) break;
    }
  } catch (error) {
    isOpen = false;
    throw error;
  } finally {
    await release(client, isOpen);
  }
}

/** Releases a connection; closes it if it may still be busy. */
async function release(client: PoolClient, isOpen: boolean): Promise<void> {
  const isIdle = isOpen && (await client.query('rollback').then(Boolean, () => false));
  client.release(!isIdle);
}
