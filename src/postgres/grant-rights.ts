/** The rights of the role that the daemon runs as, which only the owner of the tables can give. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import { RecalldError } from '../errors.ts';
import { inTransaction } from './transaction.ts';

const grants = path.resolve(import.meta.dirname, '../../deploy/postgres/grants.sql');

/** SQLSTATE of a role that is not there. */
const UNDEFINED_OBJECT = '42704';

/**
 * Does what deploy/postgres/grants.sql says; where it was done before, nothing is locked.
 *
 * @throws RecalldError database_denied, also when there is no such role
 */
export async function grantRights(pool: pg.Pool): Promise<void> {
  const sql = await readFile(grants, 'utf8');
  try {
    await inTransaction(pool, (client) => client.query(sql));
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== UNDEFINED_OBJECT) throw cause;
    throw new RecalldError(
      'database_denied',
      'The server has no role recalld_app to give rights to; run deploy/postgres/roles.sql first, as docs/security.md says.',
      { cause },
    );
  }
}
