/** Read-only transactions on a few connections of our own, bounded in time. */
import { setMaxListeners } from 'node:events';
import { Socket } from 'node:net';
import { Pool, type PoolClient, type QueryResultRow } from 'pg';
import { Refused } from '../outcome.ts';
import { CallFailure, TimeOver } from './failure.ts';

export type Query = <Row extends QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

export interface Session {
  /**
   * Runs `work` in one transaction that cannot write, for at most `limitMs` after a connection was found. Rejects with the reason of `signal` at once when it aborts, else with what PostgreSQL or the connection failed of.
   */
  run<Value>(work: (query: Query) => Promise<Value>, limitMs: number, signal: AbortSignal): Promise<Value>;
  /** Gives connections back, also one that is still being made; may be called again. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 3;
const IDLE_CONNECTION_MS = 60_000;

/** The time limit is set inside of each transaction, since poolers refuse it as an option of the connection. */
export function createSession(connectionString: string, connectTimeoutMs: number): Session {
  const sockets = new Set<Socket>();
  let ended: Promise<void> | null = null;
  const pool = new Pool({
    connectionString,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    keepAlive: true,
    application_name: 'recalld vector store',
  });
  // A connection that breaks fails the call that is under way; an error that nobody hears would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));

  return {
    async run(work, limitMs, signal) {
      signal.throwIfAborted();
      setMaxListeners(0, signal);
      const client = await checkOut(pool, signal);
      const transaction = inTransaction(client, work, limitMs);
      try {
        const value = await within(transaction, limitMs, signal);
        client.release();
        return value;
      } catch (error) {
        // Closing the connection ends what is still under way.
        client.release(!isServerError(error));
        throw error;
      }
    },
    close() {
      ended ??= pool.end();
      for (const socket of sockets) {
        if (socket.connecting) socket.destroy();
        else socket.destroySoon();
      }
      return ended;
    },
  };
}

async function inTransaction<Value>(
  client: PoolClient,
  work: (query: Query) => Promise<Value>,
  limitMs: number,
): Promise<Value> {
  const query: Query = async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
    (await client.query<Row>(text, [...values])).rows;
  await client.query(`begin read only; set local statement_timeout = ${Math.ceil(limitMs)}`);
  try {
    const value = await work(query);
    await client.query('commit');
    return value;
  } catch (error) {
    // A connection that broke has nothing to roll back.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Settles as `pending` does, unless the time is over or `signal` aborts before. */
function within<Value>(pending: Promise<Value>, limitMs: number, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TimeOver()), limitMs);
    const stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    pending.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    });
  });
}

/** The driver cannot give up waiting for a connection, so one that comes too late goes back unused. */
async function checkOut(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  const pending = pool.connect();
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    pending.finally(() => signal.removeEventListener('abort', stop)).catch(() => undefined);
  });
  try {
    return await Promise.race([pending, aborted]);
  } catch (error) {
    pending.then((client) => client.release()).catch(() => undefined);
    throw error;
  }
}

function isServerError(error: unknown): boolean {
  return (
    error instanceof CallFailure ||
    error instanceof Refused ||
    (error instanceof Error && 'severity' in error && error.severity === 'ERROR')
  );
}
