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
  /** Gives up what workers still want to tell the store. */
  abandon(): void;
  close(): Promise<void>;
}

export interface BackendOptions {
  /** How many queues will have a worker. */
  readonly queues: number;
  /** A worker that is gone for this long has its job given to another. */
  readonly lostAfterMs: number;
  /** A store that does not answer a command for this long counts as gone. */
  readonly answerLimitMs: number;
  /** Is told of what goes wrong behind the back of every call. */
  readonly report: (error: Error) => void;
}

/** The schema that BullMQ works in when it is given a pool. */
const SCHEMA = 'bullmq';

function workerTimes(lostAfterMs: number) {
  return { lockDuration: lostAfterMs, stalledInterval: lostAfterMs / 2, runRetryDelay: 1000 };
}

/** One pool for producers and workers; each worker keeps one connection of it to listen on. */
export async function openPostgresBackend(
  connection: PoolConfig,
  { queues, lostAfterMs, answerLimitMs, report }: BackendOptions,
): Promise<Backend> {
  const pool = new Pool({
    ...connection,
    max: queues + 6,
    keepAlive: true,
    connectionTimeoutMillis: answerLimitMs,
    query_timeout: answerLimitMs,
    application_name: 'recalld-queue',
    options: `-c search_path=${SCHEMA}`,
  });
  pool.on('error', report);
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
    // Nothing to do: no query outlasts the answer limit.
    abandon: () => undefined,
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
export async function openRedisBackend(
  url: string,
  { lostAfterMs, answerLimitMs, report }: BackendOptions,
): Promise<Backend> {
  if (!URL.canParse(url)) {
    const advice = 'write characters such as #, / and @ in the password as %23, %2F and %40';
    throw new RecalldError('config_invalid', `queue.url is not a URL that can be read; ${advice}.`);
  }
  const common = { connectTimeout: answerLimitMs, lazyConnect: true };
  const producer = new Redis(url, {
    ...common,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout: answerLimitMs,
  });
  const worker = new Redis(url, { ...common, maxRetriesPerRequest: null });
  // Only this tells why Redis turned us away; the call itself fails because the connection was closed then.
  let trouble: Error | undefined;
  for (const connection of [producer, worker]) {
    connection.on('error', (error: Error) => {
      trouble = error;
      report(error);
    });
  }
  const close = async (): Promise<void> => {
    producer.disconnect();
    worker.disconnect();
  };
  try {
    await Promise.all([producer.connect(), worker.connect()]);
    await producer.ping();
  } catch (cause) {
    await close();
    const error = trouble ?? cause;
    const reason = error instanceof Error ? error.message || error.name : String(error);
    throw new RecalldError(
      'queue_unreachable',
      `Redis at ${new URL(url).host} does not answer (${reason}); start it or mend queue.url.`,
      { cause },
    );
  }
  const classes = withBackend(createRedisBackend);
  return {
    queue: (name) => new classes.Queue(name, { connection: producer }),
    worker(name, processor, concurrency) {
      const options = { connection: worker, concurrency, ...workerTimes(lostAfterMs) };
      const bullmqWorker = new classes.Worker(name, processor, options);
      return {
        on: (event, listener) => bullmqWorker.on(event, listener),
        waitUntilReady: () => bullmqWorker.waitUntilReady(),
        async close() {
          const blocking = await bullmqWorker.getBackend().blockingClient;
          if (blocking !== undefined) wake(blocking);
          await bullmqWorker.close();
        },
      };
    },
    abandon() {
      wake(worker);
      worker.disconnect();
    },
    close,
  };
}

/**
 * A connection that waits for its next attempt to reconnect cannot be ended: it only stops to wait, neither says that
 * it is over nor rejects the commands in its hands. In the middle of an attempt it does both.
 */
function wake(connection: { readonly status: string; connect(): Promise<unknown> }): void {
  if (connection.status === 'reconnecting') connection.connect().catch(() => undefined);
}
