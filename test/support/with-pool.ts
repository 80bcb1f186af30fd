import type pg from 'pg';
import { createPool } from '../../src/platform/postgres/pool.ts';
import { silentLogger } from './log.ts';

/** Runs work with one connection, which is closed afterwards. */
export async function withPool<T>(connection: pg.PoolConfig, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = createPool({ connection, size: 1, logger: silentLogger });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
