/** The two stores that BullMQ can keep jobs in. We open the connections, so we close them. */
import {
  createPostgresBackend,
  createRedisBackend,
  isPgPool,
  type JobsOptions,
  type Processor,
  runMigrations,
  withBackend,
} from 'bullmq';
import { Redis } from 'ioredis';
import { Pool, type PoolConfig } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../ports/telemetry.ts';

export type BackendSettings =
  | { readonly kind: 'postgres'; readonly connection: PoolConfig }
  | { readonly kind: 'redis'; readonly url: string };

/** What we use of a BullMQ queue, whatever it is kept in. */
export interface JobsOfOneName {
  add(name: string, payload: unknown, options: JobsOptions): Promise<unknown>;
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
  close(): Promise<void>;
}

export interface BackendOptions {
  /** How many queues will have a worker. */
  readonly queues: number;
  /** A worker that is gone for this long has its job given to another. */
  readonly lostAfterMs: number;
  readonly logger: Logger;
}

/** A store that does not answer a command for this long counts as gone. */
const ANSWER_LIMIT_MS = 5000;

/** The schema that BullMQ works in when it is given a pool. */
const SCHEMA = 'bullmq';

function workerTimes(lostAfterMs: number) {
  return { lockDuration: lostAfterMs, stalledInterval: lostAfterMs / 2, runRetryDelay: 1000 };
}

/** One pool for producers and workers; each worker keeps one connection of it to listen on. */
export async function openPostgresBackend(
  connection: PoolConfig,
  { queues, lostAfterMs, logger }: BackendOptions,
): Promise<Backend> {
  const pool = new Pool({
    ...connection,
    max: queues + 6,
    keepAlive: true,
    connectionTimeoutMillis: ANSWER_LIMIT_MS,
    query_timeout: ANSWER_LIMIT_MS,
    application_name: 'recalld-queue',
    options: `-c search_path=${SCHEMA}`,
  });
  pool.on('error', (error) => {
    if (!pool.ending) logger.warn('the job queue lost an idle connection', { reason: error.message });
  });
  // Nobody but this listens to a connection that is checked out, and an error that nobody hears ends the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.setMaxListeners(0);
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
  const classes = withBackend(createPostgresBackend);
  return {
    queue: (name) => new classes.Queue(name, { connection: pool }),
    worker: (name, processor, concurrency) =>
      new classes.Worker(name, processor, { connection: pool, concurrency, ...workerTimes(lostAfterMs) }),
    close: () => pool.end(),
  };
}

async function migrateSchema(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client, SCHEMA);
  } finally {
    client.release();
  }
}

/** Producers fail at once when Redis is away, so that no request waits for it; workers wait and reconnect. */
export async function openRedisBackend(url: string, { lostAfterMs, logger }: BackendOptions): Promise<Backend> {
  const producer = new Redis(url, {
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout: ANSWER_LIMIT_MS,
    lazyConnect: true,
  });
  const worker = new Redis(url, { maxRetriesPerRequest: null, lazyConnect: true });
  for (const connection of [producer, worker]) {
    connection.on('error', (error: Error) =>
      logger.warn('the job queue lost Redis', { reason: error.message }),
    );
  }
  const close = async (): Promise<void> => {
    producer.disconnect();
    worker.disconnect();
  };
  try {
    await Promise.all([producer.connect(), worker.connect()]);
  } catch (cause) {
    await close();
    throw new RecalldError(
      'queue_unreachable',
      `Redis at ${new URL(url).host} does not answer; start it or mend queue.url.`,
      { cause },
    );
  }
  const classes = withBackend(createRedisBackend);
  return {
    queue: (name) => new classes.Queue(name, { connection: producer }),
    worker: (name, processor, concurrency) =>
      new classes.Worker(name, processor, { connection: worker, concurrency, ...workerTimes(lostAfterMs) }),
    close,
  };
}
