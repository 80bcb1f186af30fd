import type pg from 'pg';
import { createPool } from '../../src/adapters/postgres/pool.ts';
import { silentLogger } from './log.ts';

/** Work with one connection, which is closed after it. */
export async function withPool(
  connection: pg.PoolConfig,
  work: (pool: pg.Pool) => Promise<unknown>,
): Promise<void> {
  const pool = createPool({ connection, size: 1, logger: silentLogger });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
}
