/** The two stores that BullMQ can keep jobs in. We open the connections, so we close them. */
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
import { RecalldError } from '../../core/errors.ts';
import { setForSession } from '../postgres/pool.ts';
import {
  createRedisConnection,
  doubtOf,
  inspectServers,
  keepTrying,
  keyPrefix,
  nameOfRedis,
  ownerKey,
  type RedisConnection,
  type RedisSettings,
} from './redis-connection.ts';

export type BackendSettings =
  | {
      readonly kind: 'postgres';
      readonly connection: PoolConfig;
      /** As `pg_stat_activity` shows its connections. */
      readonly name?: string;
    }
  | ({ readonly kind: 'redis' } & RedisSettings);

/** What we use of a BullMQ queue, whatever it is kept in. */
export interface JobsOfOneName {
  waitUntilReady(): Promise<unknown>;
  add(name: string, payload: unknown, options: JobsOptions): Promise<unknown>;
  getFailed(start: number, end: number): Promise<{ readonly id?: string; readonly failedReason: string }[]>;
  getJobCounts(...states: ('waiting' | 'active' | 'delayed' | 'failed')[]): Promise<Record<string, number>>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<void>;
}

/** What we use of a BullMQ worker. */
export interface WorkerOfOneName {
  waitUntilReady(): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<void>;
}

export interface Backend {
  queue(name: string): JobsOfOneName;
  worker(name: string, processor: Processor, concurrency: number): WorkerOfOneName;
  /** Takes a store that is free, and tells whom it belongs to from then on. */
  claim(owner: QueueOwner): Promise<QueueOwner>;
  /** What keeps the store from being a safe one, as sentences. */
  doubts(): Promise<readonly string[]>;
  /** Gives up what workers still want to tell the store. */
  abandon(): void;
  close(): Promise<void>;
}

/** The database that the jobs of a queue are about. */
export interface QueueOwner {
  /** Goes with the database wherever it is restored. */
  readonly id: string;
  /** Where it is, for messages. */
  readonly name: string;
}

export interface BackendOptions {
  /** A worker that is gone for this long has its job given to another. */
  readonly lostAfterMs: number;
  /** A store that does not answer a command for this long counts as gone. */
  readonly answerLimitMs: number;
  /** Is told of what goes wrong behind the back of every call. */
  readonly report: (error: Error) => void;
}

/** The schema that BullMQ works in when it is given a pool. */
const SCHEMA = 'bullmq';

/**
 * So many workers may be lost over one job, be it by restarts, before it fails for good. Not without end, because the
 * job may be what kills them.
 */
const MAX_LOST_WORKERS = 10;

/**
 * A worker without a job is told of the next one by its store, and looks by itself too, should the word be lost: seldom,
 * since at BullMQ's usual five seconds this is most of what an idle daemon asks. Ten is the most that it waits on Redis.
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

/** A session that nobody speaks in may be lost without a word of that; the system finds it out some ten seconds later. */
const KEEP_ALIVE_MS = 10_000;

/** Sessions of a process: on one its workers listen, and what needs a further one waits for its turn. */
const POOL_SIZE = 5;

/**
 * What all queues and workers of a process speak through. BullMQ would give each its own, and with it each worker a
 * session to listen in, although all of them listen to the same channel.
 */
class SharedConnection extends PostgresConnection {
  /** For one of them: the others go on. */
  override async close(): Promise<void> {}

  /** For all of them. */
  end(): Promise<void> {
    return super.close();
  }
}

/** Brings the schema of the queue up to date. @throws RecalldError queue_unreachable */
export async function openPostgresBackend(
  { connection, name = 'recalld queue' }: Extract<BackendSettings, { kind: 'postgres' }>,
  { lostAfterMs, answerLimitMs, report }: BackendOptions,
): Promise<Backend> {
  const pool = new Pool({
    ...connection,
    max: POOL_SIZE,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    // Workers that begin to listen do not wait for each other.
    pipeline: true,
    connectionTimeoutMillis: answerLimitMs,
    query_timeout: answerLimitMs,
    application_name: name,
  });
  pool.on('error', report);
  pool.on('connect', (client) => {
    // Nobody but this listens to a connection that is checked out, and an error that nobody hears ends the process.
    client.on('error', () => undefined);
    // Each worker looks at what comes on the one that listens.
    client.setMaxListeners(0);
    setForSession(client, { search_path: SCHEMA });
  });
  try {
    await migrateSchema(pool);
  } catch (cause) {
    await pool.end();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new RecalldError(
      'queue_unreachable',
      `The job queue in PostgreSQL cannot be set up (${reason}); check storage.url.`,
      { cause },
    );
  }
  if (!isPgPool(pool)) throw new Error('bullmq does not take the pool of this pg');
  const shared = new SharedConnection(pool);
  shared.setMaxListeners(0);
  // A worker is ready when the session is there that it listens in.
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
    // The queue lies in the database that its jobs are about.
    claim: async (owner) => owner,
    doubts: async () => [],
    // Nothing to do: no query outlasts the answer limit.
    abandon: () => undefined,
    async close() {
      await shared.end();
      await pool.end();
    },
  };
}

/** Looks first: a role that may not change the schema can work in one that is up to date. */
async function migrateSchema(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    if ((await schemaVersion(client)) < LATEST_SCHEMA_VERSION) await runMigrations(client, SCHEMA);
  } finally {
    client.release();
  }
}

/** 0: there is no schema yet. */
async function schemaVersion(client: PoolClient): Promise<number> {
  try {
    return await assertSchemaCompatibility(client, SCHEMA);
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return 0;
    throw error;
  }
}

/** Producers fail at once when Redis is away, so that no request waits for it; workers wait and reconnect. */
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
  // Only this tells why Redis turned us away; the call itself fails because the connection was closed then.
  let trouble: Error | undefined;
  for (const connection of [producer, worker]) {
    connection.on('error', (error: Error) => {
      trouble = error;
      report(error);
    });
    // Of one node of a cluster; that the cluster goes on without it is no reason to keep it a secret.
    connection.on('node error', (error: Error) => {
      trouble = error;
      report(error);
    });
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
    const error = trouble ?? cause;
    const reason = error instanceof Error ? error.message || error.name : String(error);
    throw new RecalldError(
      'queue_unreachable',
      `${nameOfRedis(settings)} does not answer (${reason}); start it or mend queue.url.`,
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
            if (blocking !== undefined) await within(PATIENCE * answerLimitMs, untilSettled(blocking)).catch(report);
          } else if (blocking !== undefined) wake(blocking);
          await bullmqWorker.close();
        },
      };
    },
    claim: (owner) => claimRedis(producer, ownerKey(settings), owner),
    doubts: async () => (await inspectServers(producer)).flatMap((server) => doubtOf(server) ?? []),
    abandon() {
      isClosing = true;
      // It ends by itself with this attempt.
      if (worker.isCluster && isOnItsWay(worker)) return;
      wake(worker);
      worker.disconnect();
    },
    close,
  };
}

async function claimRedis(redis: RedisConnection, key: string, owner: QueueOwner): Promise<QueueOwner> {
  const text = JSON.stringify(owner);
  let stored = await redis.get(key);
  if (stored === null) {
    await redis.set(key, text, 'NX');
    stored = (await redis.get(key)) ?? text;
  }
  const found = ownerSchema.parse(JSON.parse(stored));
  // Moved, with its database.
  if (found.id === owner.id && found.name !== owner.name) await redis.set(key, text);
  return found;
}

const ownerSchema = z.object({ id: z.string(), name: z.string() });

/**
 * A connection that waits for its next attempt to reconnect cannot be ended: it only stops to wait, neither says that
 * it is over nor rejects the commands in its hands. In the middle of an attempt it does both.
 */
function wake(connection: { readonly status: string; connect(): Promise<unknown> }): void {
  if (connection.status === 'reconnecting') connection.connect().catch(() => undefined);
}

/** Attempts to reach each node of a cluster, one after the other, and a wait before them. */
const PATIENCE = 10;

/**
 * A cluster that waits for its next attempt to reconnect, or is in the middle of one, cannot be ended at all: it neither
 * says that it is over nor rejects the commands in its hands. So this waits for the outcome of the attempt.
 */
function untilSettled(connection: SettlingConnection): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isOnItsWay(connection)) return;
      for (const event of outcomes) connection.removeListener(event, look);
      resolve();
    };
    for (const event of outcomes) connection.on(event, look);
    look();
  });
}

const outcomes = ['ready', 'end'] as const;

interface SettlingConnection {
  readonly status: string;
  on(event: 'ready' | 'end', listener: () => void): unknown;
  removeListener(event: 'ready' | 'end', listener: () => void): unknown;
}

function isOnItsWay({ status }: Pick<SettlingConnection, 'status'>): boolean {
  return ['connecting', 'connect', 'close', 'reconnecting'].includes(status);
}

/** Rejects when `work` has not ended by then. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}
