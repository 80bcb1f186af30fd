/**
 * Checks of database sessions: each session keeps one server process, the search path contains the schema, and writes
 * are accepted.
 */
import type { Client, Pool, PoolConfig } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import { withClient } from './database-url.ts';
import { nameOfServer, readOnly, unreachable } from './outage.ts';
import { withConnection } from './pool.ts';

/** Kind of connection: directly to PostgreSQL, or through a pooler. */
export type SessionKind = 'direct' | 'pooled';

/**
 * Number of times that two sessions are compared. While other clients use a pooler, a single comparison may miss that
 * the sessions share a server process.
 */
const ROUNDS = 3;

/**
 * Resolves if each session keeps one server process, including behind a pooler in session mode. This check uses no
 * named prepared statements, LISTEN or session parameters, because other pooler modes lose them or apply them to other
 * clients.
 *
 * @throws RecalldError database_unreachable if the database does not respond, or if a pooler has no second session;
 * pooler_unsuitable if a session does not keep its own server process
 */
export async function assertSessions(
  connection: PoolConfig,
  field: 'storage.url' | 'storage.read_url' = 'storage.url',
): Promise<SessionKind> {
  const settings = { ...connection, query_timeout: TIMEOUT_MS };
  try {
    return await withClient<SessionKind>(settings, async (first) => {
      // At the start of a session, a pooler reports a made-up process id.
      if ((await processOf(first)) === (first as { processID?: unknown }).processID) return 'direct';
      return withClient<SessionKind>(settings, async (second) => {
        for (let round = 0; round < ROUNDS; round += 1)
          if (await shareProcess(first, second)) throw unsuitable(connection, field);
        return 'pooled';
      });
    });
  } catch (error) {
    if (String(error).includes('not allowed in statement pooling mode')) throw unsuitable(connection, field);
    throw error instanceof RecalldError ? error : unreachable(connection, error, field);
  }
}

/**
 * Returns true if the second session uses the server process of the first, or if the first session's server process has
 * changed.
 */
async function shareProcess(first: Client, second: Client): Promise<boolean> {
  const before = await processOf(first);
  await second.query('begin');
  const other = await processOf(second);
  const after = await processOf(first);
  await second.query('commit');
  return other === before || after !== before;
}

/** Timeout for the check; a pooler in session mode makes a client wait for a free server process. */
const TIMEOUT_MS = 5000;

async function processOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

function unsuitable(connection: PoolConfig, field: string): RecalldError {
  return new RecalldError(
    'pooler_unsuitable',
    `${nameOfServer(connection)} is a pooler that assigns a server process per transaction or statement; point ${field} directly to PostgreSQL, or set the pooler to session mode (pool_mode=session).`,
  );
}

/**
 * Resolves if the search path contains an existing schema.
 *
 * @throws RecalldError search_path_wrong if the path contains no existing schema, or if it lacks the schema that
 * contains recalld's tables
 */
export async function assertSchemaPath(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ role: string; path: string; current: string | null; others: string[] }>(
    `select current_user as role, current_setting('search_path') as path, current_schema() as current,
       case when to_regclass('recalld_schema_version') is null then array(
         select n.nspname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relname = 'recalld_schema_version' and c.relkind = 'r' order by 1)
       else '{}' end as others`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const { role, path, current, others } = found;
  const [other] = others;
  const set = (schema: string): string => `\`alter role "${role}" set search_path = ${schema}\``;
  if (other !== undefined) {
    throw new RecalldError(
      'search_path_wrong',
      `recalld's tables are in the schema ${other}, which the search_path of the role ${role} (${path}) does not contain; run ${set(other)}, or correct the \`options\` parameter in storage.url. A second deployment needs a separate database.`,
    );
  }
  if (current === null) {
    throw new RecalldError(
      'search_path_wrong',
      `The search_path of the role ${role} (${path === '' ? 'empty' : path}) contains no existing schema; run ${set('public')}, or create the schema.`,
    );
  }
}

/**
 * Resolves if the database accepts writes. If the database refuses writes, closes the connection, so that the next
 * connection can reach the primary after a failover.
 *
 * @throws RecalldError database_read_only, and `pg` errors if the database does not respond
 */
export async function assertWritable(pool: Pool): Promise<void> {
  await withConnection(pool, async (client) => {
    const { rows } = await client.query<{ isStandby: boolean; isReadOnly: boolean }>(
      `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`,
    );
    if (rows[0]?.isStandby === true) throw readOnly(pool.options, 'it is a standby');
    if (rows[0]?.isReadOnly === true) throw readOnly(pool.options, 'default_transaction_read_only is on');
  });
}
