/** BullMQ's two stores: PostgreSQL and Redis. recalld opens and closes the connections. */
import {
  assertSchemaCompatibility,
  type BackendFactory,
  createRedisBackend,
  isPgPool,
  type JobsOptions,
  LATEST_SCHEMA_VERSION,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
  type Processor,
  runMigrations,
  SchemaMigrationRequiredError,
  withBackend,
} from 'bullmq';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { z } from 'zod';
import { messageOf, RecalldError } from '../../core/errors.ts';
import { setForSession, withConnection } from '../postgres/pool.ts';
import { within } from '../threads/wait.ts';
import {
  createRedisConnection,
  inspectServers,
  keepTrying,
  keyPrefix,
  nameOfRedis,
  ownerKey,
  problemOf,
  type RedisConnection,
  type RedisSettings,
} from './redis-connection.ts';

export type BackendSettings =
  | {
      readonly kind: 'postgres';
      readonly connection: PoolConfig;
      /** Application name of the queue's connections in `pg_stat_activity`. */
      readonly name?: string;
    }
  | ({ readonly kind: 'redis' } & RedisSettings);

/** The BullMQ queue methods that recalld uses. */
export interface JobsOfOneName {
  waitUntilReady(): Promise<unknown>;
  add(name: string, payload: unknown, options: JobsOptions): Promise<unknown>;
  getFailed(start: number, end: number): Promise<{ readonly id?: string; readonly failedReason: string }[]>;
  getJobCounts(...states: ('waiting' | 'active' | 'delayed' | 'failed')[]): Promise<Record<string, number>>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<void>;
}

/** The BullMQ worker methods that recalld uses. */
export interface WorkerOfOneName {
  waitUntilReady(): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<void>;
}

export interface Backend {
  queue(name: string): JobsOfOneName;
  worker(name: string, processor: Processor, concurrency: number): WorkerOfOneName;
  /** Claims a store that has no owner. Returns a message if the store belongs to another deployment; otherwise null. */
  claim(owner: QueueOwner): Promise<string | null>;
  /** Problems that make the store unsafe, as sentences. */
  problems(): Promise<readonly string[]>;
  /** Abandons results that workers have not reported to the store yet. */
  abandon(): void;
  close(): Promise<void>;
}

/** The deployment that owns a queue. Its database identifies it. */
export interface QueueOwner {
  /** Id of the deployment, stored in the database so that it survives a restore. */
  readonly id: string;
  /** Address of the database, for messages. */
  readonly name: string;
}

export interface BackendOptions {
  /** How long a worker must be lost before its job is assigned to another worker. */
  readonly lostAfterMs: number;
  /** Timeout for a store command. */
  readonly answerLimitMs: number;
  /** Callback for errors that occur outside of calls. */
  readonly report: (error: Error) => void;
}

/** The schema that BullMQ uses if recalld passes it a connection pool. */
const SCHEMA = 'bullmq';

/**
 * Number of workers that a job may lose before it fails permanently. Workers lost in a restart also count. There is a
 * limit, because the job itself may crash its workers.
 */
const MAX_LOST_WORKERS = 10;

/**
 * How often an idle worker polls for jobs, in case the store's notification about a new job is lost. With BullMQ's
 * default of 5 s, most queries of an idle daemon would be polls. For Redis, BullMQ limits the interval to 10 s.
 */
const IDLE_SECONDS = { redis: 10, postgres: 30 };

function workerOptions(kind: BackendSettings['kind'], lostAfterMs: number) {
  return {
    lockDuration: lostAfterMs,
    stalledInterval: lostAfterMs / 2,
    maxStalledCount: MAX_LOST_WORKERS,
    runRetryDelay: 1000,
    drainDelay: IDLE_SECONDS[kind],
  };
}

/** TCP keep-alive detects a silently lost session after about ten seconds. */
const KEEP_ALIVE_MS = 10_000;

/** Number of PostgreSQL sessions per process: the workers listen on one session, and commands share the rest. */
const POOL_SIZE = 5;

/**
 * The connection that all queues and workers in a process share. By default, BullMQ opens a connection for each queue
 * and each worker, and also a listening session for each worker, although all workers listen to the same channel.
 */
class SharedConnection extends PostgresConnection {
  /**
   * Called when one queue or worker closes. Does nothing, because other queues and workers still need the connection.
   */
  override async close(): Promise<void> {}

  /** Closes the connection for all queues and workers. */
  end(): Promise<void> {
    return super.close();
  }
}

/** Opens the backend, and migrates the queue's schema. @throws RecalldError queue_unreachable */
export async function openPostgresBackend(
  { connection, name = 'recalld queue' }: Extract<BackendSettings, { kind: 'postgres' }>,
  { lostAfterMs, answerLimitMs, report }: BackendOptions,
): Promise<Backend> {
  const pool = new Pool({
    ...connection,
    max: POOL_SIZE,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    // Lets workers send their LISTEN commands concurrently on the shared session.
    pipeline: true,
    connectionTimeoutMillis: answerLimitMs,
    query_timeout: answerLimitMs,
    application_name: name,
  });
  pool.on('error', report);
  pool.on('connect', (client) => {
    // A checked-out connection has no other listener, and an error without a listener ends the process.
    client.on('error', () => undefined);
    // Removes the limit on listeners, because every worker listens on the same connection.
    client.setMaxListeners(0);
    setForSession(client, { search_path: SCHEMA });
  });
  try {
    await migrateSchema(pool);
  } catch (cause) {
    await pool.end();
    throw new RecalldError(
      'queue_unreachable',
      `The job queue in PostgreSQL could not be set up (${messageOf(cause)}); check storage.url.`,
      { cause },
    );
  }
  if (!isPgPool(pool)) throw new Error('BullMQ does not accept a pool from this version of pg');
  const shared = new SharedConnection(pool);
  shared.setMaxListeners(0);
  // A worker is ready once its listening session is open.
  const inShared: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (
    of,
    options,
    { withBlockingConnection } = {},
  ) => new PostgresQueueBackend(shared, of, options, true, withBlockingConnection === true ? name : undefined);
  const classes = withBackend(inShared);
  return {
    queue: (name) => new classes.Queue(name, { connection: pool }),
    worker: (name, processor, concurrency) =>
      new classes.Worker(name, processor, { connection: pool, concurrency, ...workerOptions('postgres', lostAfterMs) }),
    // Always succeeds, because the queue is in the database of its deployment.
    claim: async () => null,
    problems: async () => [],
    // Does nothing, because no query takes longer than `answerLimitMs`.
    abandon: () => undefined,
    async close() {
      await shared.end();
      await pool.end();
    },
  };
}

/** Migrates only if needed, so that a role without schema privileges can use an up-to-date schema. */
async function migrateSchema(pool: Pool): Promise<void> {
  await withConnection(pool, async (client) => {
    if ((await schemaVersion(client)) < LATEST_SCHEMA_VERSION) await runMigrations(client, SCHEMA);
  });
}

/** Returns the version of the queue's schema; 0 if there is no schema. */
async function schemaVersion(client: PoolClient): Promise<number> {
  try {
    return await assertSchemaCompatibility(client, SCHEMA);
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return 0;
    throw error;
  }
}

/** Producers fail immediately when Redis is unreachable, so that no request waits; workers wait and reconnect. */
export async function openRedisBackend(
  settings: RedisSettings,
  { lostAfterMs, answerLimitMs, report }: BackendOptions,
): Promise<Backend> {
  const common = { connectTimeout: answerLimitMs };
  const producer = createRedisConnection(
    settings,
    { ...common, maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: answerLimitMs },
    keepTrying,
  );
  let isClosing = false;
  const retryDelay = (attempt: number): number | null => (isClosing ? null : keepTrying(attempt));
  const worker = createRedisConnection(settings, { ...common, maxRetriesPerRequest: null }, retryDelay);
  // The reason is in the error event. The error of the failed call says only that the connection was closed.
  let trouble: Error | undefined;
  for (const connection of [producer, worker]) {
    // An error from one cluster node is also reported, although the cluster works without that node.
    for (const event of ['error', 'node error'] as const) {
      connection.on(event, (error: Error) => {
        trouble = error;
        report(error);
      });
    }
  }
  const close = async (): Promise<void> => {
    producer.disconnect();
    worker.disconnect();
  };
  try {
    await within(2 * answerLimitMs, Promise.all([producer.connect(), worker.connect()]));
    await producer.ping();
  } catch (cause) {
    await close();
    throw new RecalldError(
      'queue_unreachable',
      `${nameOfRedis(settings)} does not respond (${messageOf(trouble ?? cause)}); start it or correct queue.url.`,
      { cause },
    );
  }
  const classes = withBackend(createRedisBackend);
  return {
    queue: (name) => new classes.Queue(name, { connection: producer, prefix: keyPrefix(settings, name) }),
    worker(name, processor, concurrency) {
      const prefix = keyPrefix(settings, name);
      const options = { connection: worker, concurrency, prefix, ...workerOptions('redis', lostAfterMs) };
      const bullmqWorker = new classes.Worker(name, processor, options);
      return {
        on: (event, listener) => bullmqWorker.on(event, listener),
        waitUntilReady: () => bullmqWorker.waitUntilReady(),
        async close() {
          const blocking = await bullmqWorker.getBackend().blockingClient;
          if (worker.isCluster) {
            isClosing = true;
            if (blocking !== undefined)
              await within(RECONNECT_LIMIT_FACTOR * answerLimitMs, connectionOutcome(blocking)).catch(report);
          } else if (blocking !== undefined) wake(blocking);
          await bullmqWorker.close();
        },
      };
    },
    claim: (owner) => claimRedis(producer, settings, owner),
    problems: async () => (await inspectServers(producer)).flatMap((server) => problemOf(server) ?? []),
    abandon() {
      isClosing = true;
      // `isClosing` makes the connection end when the current connection attempt ends.
      if (worker.isCluster && isConnecting(worker)) return;
      wake(worker);
      worker.disconnect();
    },
    close,
  };
}

async function claimRedis(redis: RedisConnection, settings: RedisSettings, owner: QueueOwner): Promise<string | null> {
  const key = ownerKey(settings);
  const text = JSON.stringify(owner);
  try {
    let stored = await redis.get(key);
    if (stored === null) {
      await redis.set(key, text, 'NX');
      stored = (await redis.get(key)) ?? text;
    }
    const found = ownerSchema.parse(JSON.parse(stored));
    if (found.id !== owner.id) {
      const { prefix = 'recalld' } = settings;
      return `The queue "${prefix}" in ${nameOfRedis(settings)} belongs to the deployment with ${found.name}, not to this one (${owner.name}). Each deployment would run the other's jobs. Set queue.prefix to another name. If the other deployment no longer exists, delete the key ${key} in that Redis (docs/how-to/scaling.md).`;
    }
    // The deployment's database has a new address, so the stored address is updated.
    if (found.name !== owner.name) await redis.set(key, text);
  } catch (error) {
    if (!isFull(error)) throw error;
  }
  return null;
}

/** True if Redis refused a command because it reached its memory limit. */
export const isFull = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('OOM command not allowed');

const ownerSchema = z.object({ id: z.string(), name: z.string() });

/**
 * Starts the next attempt on a connection that is waiting to reconnect. A waiting connection cannot be ended cleanly:
 * it stops without an `end` event and without rejecting its pending commands. A connection that is trying to connect
 * emits an `end` event and rejects its pending commands.
 */
function wake(connection: { readonly status: string; connect(): Promise<unknown> }): void {
  if (connection.status === 'reconnecting') connection.connect().catch(() => undefined);
}

/**
 * Maximum duration of a cluster's reconnect attempt, as a multiple of `answerLimitMs`. An attempt waits first, and then
 * tries to reach each node, one after the other.
 */
const RECONNECT_LIMIT_FACTOR = 10;

/**
 * Waits for the outcome of a cluster's current reconnect attempt. A cluster that is waiting to reconnect, or is
 * reconnecting, cannot be ended cleanly: it emits no `end` event and does not reject its pending commands.
 */
function connectionOutcome(connection: ReconnectingConnection): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (isConnecting(connection)) return;
      for (const event of outcomes) connection.removeListener(event, check);
      resolve();
    };
    for (const event of outcomes) connection.on(event, check);
    check();
  });
}

const outcomes = ['ready', 'end'] as const;

interface ReconnectingConnection {
  readonly status: string;
  on(event: 'ready' | 'end', listener: () => void): unknown;
  removeListener(event: 'ready' | 'end', listener: () => void): unknown;
}

function isConnecting({ status }: { readonly status: string }): boolean {
  return ['connecting', 'connect', 'close', 'reconnecting'].includes(status);
}
