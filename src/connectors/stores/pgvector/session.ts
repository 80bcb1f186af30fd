/** Read-only transactions with a time limit, on a small pool of connections. */
import { Socket } from 'node:net';
import { Client, Pool, type PoolClient, type PoolConfig, type QueryResultRow } from 'pg';
import { codeOf, RecalldError } from '../../../core/errors.ts';
import { classifyConnectionFailure } from '../../../platform/outbound/exchange.ts';
import { type DatabaseRoute, mayFallBack, readDatabaseUrl } from '../../../platform/postgres/database-url.ts';
import { orAborted } from '../../../platform/threads/wait.ts';
import type { StoreConfigOf } from '../config.ts';
import { Refused } from '../store-rows.ts';

interface Failure {
  readonly code: string;
  /** Completes a sentence such as `pgvector search failed: ...`. */
  readonly problem: string;
}

/** Thrown inside a call, and converted into the outcome of the call. */
export class CallFailure extends Error implements Failure {
  readonly code: string;
  readonly problem: string;

  constructor(code: string, problem: string) {
    super(problem);
    this.code = code;
    this.problem = problem;
  }
}

/** Thrown if no response arrived within the time limit. */
export class TimeOver extends Error {}

export type Place = ReturnType<typeof placeOf>;

/** Returns the location of the store, worded for messages. @throws RecalldError config_invalid */
export function placeOf({ url, table, timeout_ms: timeoutMs }: StoreConfigOf<'pgvector'>, configField: string) {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new RecalldError('config_invalid', `${configField}.url: not a postgres:// URL.`);
  }
  const { connection } = readDatabaseUrl(url, `${configField}.url`);
  const { host, port, user } = new Client(connection);
  // The address omits the user and the password.
  return { address: `${host}:${port}`, user: user ?? 'of this process', table, configField, timeoutMs };
}

function timeout({ address, timeoutMs, configField }: Place): Failure {
  const fix = `raise ${configField}.timeout_ms or check the server's load`;
  return { code: 'timeout', problem: `${address} did not respond within ${timeoutMs} ms; ${fix}.` };
}

function authentication({ address, user, configField }: Place): Failure {
  const problem = `${address} rejects the user ${user}; check ${configField}.url and pg_hba.conf.`;
  return { code: 'authentication_failed', problem };
}

/** Returns the failure for a SQLSTATE (appendix A of the PostgreSQL manual). */
function failureOfState(state: string, place: Place): Failure {
  const { address, table, user, configField } = place;
  switch (state) {
    case '57014':
    case '55P03':
      return timeout(place);
    case '28000':
    case '28P01':
      return authentication(place);
    case '42P01':
    case '42703':
    case '42883': {
      const problem = 'a table, column or operator in the statement does not exist';
      return { code: 'not_found', problem: `${problem}; check ${configField} and the table ${table}.` };
    }
    case '22000': {
      const problem = `the query vector and the vectors of ${configField}.embedding differ in length`;
      const fix = 'check that the pipeline and the store use the same embedding model';
      return { code: 'dimension_mismatch', problem: `${problem}; ${fix}.` };
    }
    case '3D000':
      return { code: 'database_missing', problem: `${address} has no such database; check ${configField}.url.` };
    case '42501': {
      const fix = `run GRANT SELECT ON ${table} TO that user, and GRANT USAGE on its schema`;
      return { code: 'permission_denied', problem: `the user ${user} may not read ${table}; ${fix}.` };
    }
    case '53300': {
      const problem = `${address} has no free connection; raise max_connections or use a pooler.`;
      return { code: 'too_many_connections', problem };
    }
    default:
      return { code: 'query_failed', problem: `${address} returned the PostgreSQL error ${state}.` };
  }
}

/**
 * Returns a failure with the SQLSTATE but without the error text, which may repeat a vector, a filter value or the URL
 * with its password.
 */
export function classifyFailure(error: unknown, place: Place): Failure {
  if (error instanceof CallFailure) return error;
  const state = stateOf(error);
  if (state !== null) return failureOfState(state, place);
  if (isTimeout(error)) return timeout(place);
  const said = error instanceof Error ? error.message : '';
  if (said.startsWith('SASL')) return authentication(place);
  if (said.startsWith('Connection terminated')) {
    return { code: 'connection_reset', problem: `${place.address} closed the connection.` };
  }
  if (said.includes('does not support SSL')) {
    const problem = `${place.address} does not support TLS; remove sslmode from ${place.configField}.url.`;
    return { code: 'tls_error', problem };
  }
  const { code, problem } = classifyConnectionFailure(error);
  return code === 'timeout' ? timeout(place) : { code, problem: `${place.address} ${problem}.` };
}

function stateOf(error: unknown): string | null {
  const code = codeOf(error);
  return /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as Error) ? code : null;
}

/** Recognizes driver timeouts by their messages, because the driver assigns them no code. */
function isTimeout(error: unknown): boolean {
  return error instanceof TimeOver || (error instanceof Error && /^timeout |connection timeout$/.test(error.message));
}

export type Query = <Row extends QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

const MAX_CONNECTIONS = 3;
const IDLE_CONNECTION_MS = 60_000;

/**
 * Sets the time limit in each transaction, because poolers reject it as a connection option.
 *
 * @param route the two ways to connect; if the first fails and the second succeeds, all later connections use the
 *   second
 */
export function createSession(route: DatabaseRoute, connectTimeoutMs: number) {
  const sockets = new Set<Socket>();
  let ended: Promise<void> | null = null;
  const open = (connection: PoolConfig): Pool => {
    const opened = new Pool({
      ...connection,
      stream: () => {
        const socket = new Socket();
        sockets.add(socket);
        return socket.once('close', () => sockets.delete(socket));
      },
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: IDLE_CONNECTION_MS,
      keepAlive: true,
      // Sends `begin` together with the first statement.
      pipeline: true,
      application_name: 'recalld vector store',
    });
    // If a connection breaks, the current call fails, so the `error` event itself is ignored. Without a listener, the
    // event would end the process.
    opened.on('error', () => undefined);
    opened.on('connect', (client) => client.on('error', () => undefined));
    return opened;
  };
  let pool = open(route.connection);
  let fallback = route.fallback;
  const connect = async (signal: AbortSignal): Promise<PoolClient> => {
    const first = pool;
    try {
      const client = await checkOut(first, signal);
      fallback = null;
      return client;
    } catch (error) {
      signal.throwIfAborted();
      // Another call may have changed the route in the meantime.
      if (pool !== first) return checkOut(pool, signal);
      if (fallback === null || !mayFallBack(error)) throw error;
      const other = open(fallback);
      try {
        const client = await checkOut(other, signal);
        if (pool === first) {
          [pool, fallback] = [other, null];
          void first.end();
          return client;
        }
        client.release();
      } catch (failure) {
        void other.end();
        throw isMoreInformative(error) ? error : failure;
      }
      // Another call changed the route while this call was trying the fallback.
      void other.end();
      return checkOut(pool, signal);
    }
  };

  return {
    /**
     * Runs `work` in one read-only transaction, for at most `limitMs` after a connection was acquired. Rejects with
     * `signal.reason` as soon as `signal` aborts, or with the error from PostgreSQL or the connection.
     */
    async run<Value>(limitMs: number, signal: AbortSignal, work: (query: Query) => Promise<Value>): Promise<Value> {
      signal.throwIfAborted();
      const client = await connect(signal);
      const transaction = inTransaction(client, work, limitMs);
      try {
        const value = await within(transaction, limitMs, signal);
        client.release();
        return value;
      } catch (error) {
        // Closing the connection cancels a pending call.
        client.release(!isServerError(error));
        throw error;
      }
    },
    /** Closes connections, including a connection that is still being opened. May be called again. */
    close(): Promise<void> {
      ended ??= pool.end();
      for (const socket of sockets) {
        if (socket.connecting) socket.destroy();
        else socket.destroySoon();
      }
      return ended;
    },
  };
}

/** False if the error from the first connection attempt means only that the server does not support TLS. */
function isMoreInformative(error: unknown): boolean {
  return !(error instanceof Error && error.message.includes('does not support SSL'));
}

async function inTransaction<Value>(client: PoolClient, work: (query: Query) => Promise<Value>, limitMs: number) {
  const query: Query = async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
    (await client.query<Row>(text, [...values])).rows;
  const begun = client.query(`begin read only; set local statement_timeout = ${Math.ceil(limitMs)}`);
  // If `begin` fails, `await begun` throws the error, unless `work` throws first.
  begun.catch(() => undefined);
  try {
    const value = await work(query);
    await begun;
    // Nothing was written, so the caller need not wait for the commit. Only the next query on this connection waits.
    client.query('commit').catch(() => undefined);
    return value;
  } catch (error) {
    // A broken connection has nothing to roll back.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Resolves or rejects like `pending`, unless the time limit passes or `signal` aborts first. */
function within<Value>(pending: Promise<Value>, limitMs: number, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TimeOver()), limitMs);
    orAborted(pending, signal)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** The driver cannot cancel a wait for a connection, so this function releases a connection that arrives too late. */
async function checkOut(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  const pending = pool.connect();
  try {
    return await orAborted(pending, signal);
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
