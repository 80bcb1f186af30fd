/** The checks that `recalld doctor` runs on the database and the queue. */
import type { Pool } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { chooseConnection } from '../../platform/postgres/database-url.ts';
import { compareSchema } from '../../platform/postgres/migrate.ts';
import { unreachable } from '../../platform/postgres/outage.ts';
import { createPool, inspectReplica } from '../../platform/postgres/pool.ts';
import { assertSessions, assertWritable } from '../../platform/postgres/sessions.ts';
import { readVacuumState, type VacuumState } from '../../platform/postgres/vacuum.ts';
import { openJobQueue } from '../../platform/queue/bullmq.ts';
import { inspectRedis, problemOf, type RedisState } from '../../platform/queue/redis-connection.ts';
import { COMMAND_NAME, type CommandSettings, type CommandStore, withCommandStore } from '../commands/command-store.ts';
import type { Config } from '../config/schema.ts';
import { queueBackend, queueOwner, type Storage } from '../database.ts';
import { jobCatalogue } from '../jobs.ts';

/** Limits above which dead rows are reported. Autovacuum runs when about a sixth of the rows are dead. */
const MANY_DEAD = { rows: 50_000, share: 0.4 };
const LONG_IDLE_SECONDS = 300;

export function examineVacuum({ isAutovacuumOn, excluded, worst, idle }: VacuumState, now: Date): Result[] {
  const found: Result[] = [];
  if (!isAutovacuumOn) {
    const message =
      'Autovacuum is off, so dead rows accumulate; set autovacuum = on in the config of the PostgreSQL server.';
    found.push({ status: 'wrong', message });
  }
  const [first] = excluded;
  if (first !== undefined) {
    const others = excluded.length === 1 ? '' : ` and ${excluded.length - 1} more`;
    const message = `Autovacuum is off for the table ${first}${others}; turn it on with \`alter table ${first} reset (autovacuum_enabled)\`.`;
    found.push({ status: 'wrong', message });
  }
  if (worst !== null && worst.deadRows >= MANY_DEAD.rows && worst.deadShare >= MANY_DEAD.share) {
    const last =
      worst.vacuumedAt === null
        ? 'the table has never been vacuumed'
        : `the last vacuum was ${minutes((now.getTime() - worst.vacuumedAt.getTime()) / 1000)} ago`;
    const message = `${Math.round(100 * worst.deadShare)} % of the rows of ${worst.table} are dead, and ${last}; run \`vacuum ${worst.table}\`. If dead rows remain, end old transactions and drop unused replication slots.`;
    found.push({ status: 'warning', message });
  }
  const longest = idle.find(({ seconds }) => seconds >= LONG_IDLE_SECONDS);
  if (longest !== undefined) {
    const { pid, application, seconds } = longest;
    const message = `A session${application === '' ? '' : ` of "${application}"`} has been idle in a transaction for ${minutes(seconds)}, so vacuum cannot remove dead rows; end it with \`select pg_terminate_backend(${pid})\`.`;
    found.push({ status: 'warning', message });
  }
  return found.length > 0 ? found : [{ status: 'ok', message: 'Autovacuum is on, and no table has many dead rows.' }];
}

function minutes(seconds: number): string {
  return plural(Math.round(seconds / 60), 'minute');
}

const TIMEOUT_MS = 5000;
/** Oldest supported Redis version; older versions lack commands that BullMQ needs. */
const OLDEST_REDIS = '6.2';

/** Opens the database for `work`. If the database cannot be opened, reports the problem and passes null to `work`. */
export async function withDatabase(
  settings: CommandSettings,
  report: Report,
  work: (store: CommandStore | null) => Promise<void>,
): Promise<void> {
  const startedMs = performance.now();
  let isOpen = false;
  try {
    await withCommandStore(settings, async (store) => {
      isOpen = true;
      const { rows } = await store.storage.pool.query<{ version: string }>(
        `select current_setting('server_version') as version`,
      );
      const isEmbedded = settings.config.storage.url === 'embedded';
      const isPooled = !isEmbedded && (await assertSessions(store.storage.connection)) === 'pooled';
      const through = isPooled ? ' through a pooler in session mode' : '';
      const { newer } = await compareSchema(store.storage.pool);
      const where = isEmbedded ? 'embedded PostgreSQL' : 'PostgreSQL';
      report(
        'database',
        'ok',
        `${where} ${rows[0]?.version ?? ''} responds${through}, and its schema ${newer.length === 0 ? 'matches this version of recalld' : 'is newer than this version of recalld'}.`,
        performance.now() - startedMs,
      );
      if (newer.length > 0) {
        const message = `A newer recalld migrated the database (${newer.join(', ')}); this version is compatible with the new schema.`;
        report('database', 'warning', message);
      }
      await examineWrites(store.storage.pool, report);
      for (const { status, message } of examineVacuum(await readVacuumState(store.storage.pool), new Date()))
        report('database', status, message);
      await examineReplica(settings, store.storage.pool, report);
      await examineFailedJobs(settings, store.storage, report);
      await work(store);
    });
  } catch (error) {
    if (isOpen || !(error instanceof RecalldError) || error.kind === 'interrupted') throw error;
    report('database', error.retryable ? 'unreachable' : 'wrong', error.message, performance.now() - startedMs);
    await work(null);
  }
}

async function examineWrites(pool: Pool, report: Report): Promise<void> {
  try {
    await assertWritable(pool);
  } catch (error) {
    if (!(error instanceof RecalldError)) throw error;
    report('database', 'wrong', error.message);
  }
}

async function examineReplica({ config, logger }: CommandSettings, primary: Pool, report: Report): Promise<void> {
  const { read_url: connectionString } = config.storage;
  if (connectionString === null) return;
  const service = 'replica';
  const startedMs = performance.now();
  const connection = await chooseConnection(connectionString, 'storage.read_url');
  const pool = createPool({
    connection,
    size: 1,
    logger,
    name: `${COMMAND_NAME} replica`,
    queryLimitMs: TIMEOUT_MS,
  });
  try {
    await assertSessions(connection, 'storage.read_url');
    const { version, hasSchema, behindSeconds } = await inspectReplica(pool, primary);
    const ms = performance.now() - startedMs;
    if (!hasSchema) {
      const message =
        "The database in storage.read_url does not have recalld's tables; set storage.read_url to a replica of storage.url.";
      report(service, 'wrong', message, ms);
    } else if (behindSeconds !== null) {
      const message = `PostgreSQL ${version} responds but lags by ${Math.round(behindSeconds)} s, so pages that read from it show old data; check its replication.`;
      report(service, 'warning', message, ms);
    } else {
      const message = `PostgreSQL ${version} responds and is up to date with the primary.`;
      report(service, 'ok', message, ms);
    }
  } catch (error) {
    const known = error instanceof RecalldError ? error : unreachable(pool.options, error, 'storage.read_url');
    const ms = performance.now() - startedMs;
    if (!known.retryable) report(service, 'wrong', known.message, ms);
    else report(service, 'unreachable', `${known.message} Meanwhile, reads go to storage.url.`, ms);
  } finally {
    await pool.end();
  }
}

export async function examineQueue({ queue }: Config, report: Report): Promise<void> {
  const service = 'queue';
  if (queue.backend === 'postgres') {
    report(service, 'ok', 'Jobs are stored in the PostgreSQL database of `storage`.');
    return;
  }
  const startedMs = performance.now();
  try {
    const servers = await inspectRedis(queue, TIMEOUT_MS);
    const ms = performance.now() - startedMs;
    for (const server of servers) {
      const { status, message } = examineRedis(server, servers.length > 1);
      report(service, status, message, ms);
    }
  } catch (error) {
    if (!(error instanceof RecalldError)) throw error;
    report(service, 'unreachable', error.message, performance.now() - startedMs);
  }
}

function examineRedis(server: RedisState, isOneOfMany: boolean): Result {
  const { host, version, maxmemoryPolicy } = server;
  const redis = isOneOfMany ? `Redis at ${host}` : 'Redis';
  if (version.localeCompare(OLDEST_REDIS, 'en', { numeric: true }) < 0) {
    return {
      status: 'wrong',
      message: `${redis} has version ${version}; recalld needs ${OLDEST_REDIS} or newer.`,
    };
  }
  if (maxmemoryPolicy === null) {
    const message = `${redis} ${version} responds but does not report its maxmemory-policy; make sure that it is noeviction.`;
    return { status: 'warning', message };
  }
  const problem = problemOf(server);
  if (problem !== null) return { status: 'wrong', message: problem };
  return { status: 'ok', message: `${redis} ${version} responds and does not evict keys.` };
}

/** Reports failed jobs. Ignores an unreachable Redis, which has already been reported. */
async function examineFailedJobs({ config, logger }: CommandSettings, storage: Storage, report: Report): Promise<void> {
  const service = 'jobs';
  const backend = queueBackend(config, storage);
  try {
    const owner = await queueOwner(storage);
    const queue = await openJobQueue({ backend, jobs: jobCatalogue, logger, owner });
    try {
      const failed = (await queue.counts()).filter(({ state, count }) => state === 'failed' && count > 0);
      for (const latest of await queue.failures(1)) {
        const count = failed.find((one) => one.queue === latest.queue)?.count ?? 1;
        const which = count === 1 ? `A job of ${latest.queue}` : `${count} jobs of ${latest.queue}`;
        const reason = latest.reason.replace(/\.$/, '');
        const message = `${which} failed permanently. The latest (${latest.id}) failed with "${reason}". See the worker's log; scheduled jobs run again at their next scheduled time.`;
        report(service, 'warning', message);
      }
    } finally {
      await queue.close();
    }
  } catch (error) {
    if (!(error instanceof RecalldError)) throw error;
    if (error.code === 'queue_taken') report('queue', 'wrong', error.message);
    else if (backend.kind === 'postgres') report(service, 'unreachable', error.message);
  }
}

export interface Result {
  /**
   * `unreachable`: the service does not respond. `wrong`: the service needs a fix. `skipped`: the service is not in the
   * config.
   */
  readonly status: 'ok' | 'warning' | 'wrong' | 'unreachable' | 'skipped';
  /** The result, or the problem and its fix. */
  readonly message: string;
}

/**
 * @param service `database`, `queue`, or a pipeline's service, such as `support-docs retriever`
 * @param ms response time in milliseconds; null if the service was not called
 */
export type Report = (service: string, status: Result['status'], message: string, ms?: number | null) => void;
