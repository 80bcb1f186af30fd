import type { Pool } from 'pg';
import { outageOf } from './pool.ts';

/** Runs the work. That the database is away is told by its sentence; any other error, such as a bug, stays what it is. */
export async function namingOutage<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw outageOf(pool.options, cause) ?? cause;
  }
}
