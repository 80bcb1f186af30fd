import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';

/**
 * The key of the hashes that stand for people, made at the first call and the same for every process of the database.
 * Whoever can read the database can read it too; a key in the config keeps the two apart.
 */
export async function storedHashKey(pool: Pool): Promise<string> {
  await pool.query(`insert into hash_keys (name, key) values ('people', $1::text) on conflict do nothing`, [
    randomBytes(32).toString('hex'),
  ]);
  const { rows } = await pool.query<{ key: string }>(`select key from hash_keys where name = 'people'`);
  if (rows[0] === undefined) throw new Error('the hash key is gone right after it was made');
  return rows[0].key;
}
