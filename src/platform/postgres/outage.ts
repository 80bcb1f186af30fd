/** Error messages for a database that does not respond, or that cannot run a statement at the moment. */
import { Client, type Pool, type PoolConfig } from 'pg';
import { codeOf, messageOf, RecalldError } from '../../core/errors.ts';

type UrlField = 'storage.url' | 'storage.read_url';

/**
 * Resolves if the database responds.
 *
 * @throws RecalldError database_unreachable, which names the host and the reason, but never the password
 */
export async function assertReachable(pool: Pool): Promise<void> {
  try {
    await pool.query('select 1');
  } catch (cause) {
    throw unreachable(pool.options, cause);
  }
}

/** SQLSTATE for a full disk. */
const DISK_FULL = '53100';
/** SQLSTATE for a write in a read-only transaction. */
const READ_ONLY = '25006';
/** SQLSTATEs for a lock timeout, a deadlock, a serialization failure and a statement timeout. */
const BUSY_STATES = new Set(['55P03', '40P01', '40001', '57014']);

/**
 * Returns the error for a query that did not reach the database, or that the database could not run.
 *
 * @param field config field of the database
 */
export function unreachable(options: PoolConfig, cause: unknown, field: UrlField = 'storage.url'): RecalldError {
  const reason = messageOf(cause);
  const server = nameOfServer(options);
  const code = codeOf(cause);
  if (code === DISK_FULL) {
    const advice = 'free or add disk space, or lower privacy.retention_days to store less';
    return new RecalldError('database_full', `The disk of ${server} is full (${reason}); ${advice}.`, {
      cause,
    });
  }
  if (code === READ_ONLY) return readOnly(options, reason, cause);
  if (BUSY_STATES.has(code)) {
    const advice =
      'try again; if the problem persists, end the session that holds a lock (`recalld doctor` shows idle transactions), or raise storage.statement_seconds';
    return new RecalldError('database_busy', `${server} could not run a statement in time (${reason}); ${advice}.`, {
      cause,
    });
  }
  const [problem, advice] = causeOf(cause, field);
  return new RecalldError('database_unreachable', `${server} ${problem} (${reason}); ${advice}.`, { cause });
}

/** @param reason message from the server or from recalld */
export function readOnly(options: PoolConfig, reason: string, cause?: unknown): RecalldError {
  const advice = 'point storage.url to the primary, or turn off default_transaction_read_only on this server';
  const message = `${nameOfServer(options)} is read-only (${reason}); ${advice}.`;
  return new RecalldError('database_read_only', message, { cause });
}

export function nameOfServer(options: PoolConfig): string {
  const { host, port } = new Client(options);
  return `PostgreSQL at ${host || 'localhost'}:${port || 5432}`;
}

/** Node.js TLS error codes for an untrusted server certificate. */
const UNTRUSTED = /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_(UNTRUSTED|SIGNATURE|REJECTED)|INVALID_CA/;

/** Returns the problem, worded to follow the server name, and the advice. */
function causeOf(error: unknown, field: UrlField): readonly [problem: string, advice: string] {
  const [code, reason] = [codeOf(error), messageOf(error)];
  const inUrl = (what: string): string => `correct ${what} in ${field}`;
  const causes: readonly (readonly [boolean, problem: string, advice: string])[] = [
    [
      UNTRUSTED.test(code),
      'has an untrusted certificate',
      `set sslrootcert in ${field} (or NODE_EXTRA_CA_CERTS) to the PEM file of its authority, or use sslmode=require, which encrypts without checking the certificate`,
    ],
    [
      code === 'ERR_TLS_CERT_ALTNAME_INVALID',
      'has a certificate for a different host name',
      `change the host in ${field} to the name in the certificate, or use sslmode=verify-ca, which does not check the name`,
    ],
    [
      code.startsWith('CERT_'),
      'has a certificate that is expired or not yet valid',
      'renew the certificate, or correct the clock of this machine',
    ],
    [
      reason.includes('does not support SSL'),
      'does not support TLS',
      `turn on ssl on the server, or use sslmode=prefer or sslmode=disable in ${field}`,
    ],
    [
      /^(ERR_SSL|ERR_TLS|EPROTO)/.test(code) || /establishing an SSL connection|secure TLS connection/.test(reason),
      'refused the TLS handshake',
      `${inUrl('sslmode, sslcert and sslkey')} (sslnegotiation=direct requires PostgreSQL 17)`,
    ],
    [
      reason.includes('no encryption'),
      'requires TLS or refuses this user',
      `use sslmode=require in ${field}, or add a line to pg_hba.conf`,
    ],
    [
      /^(28|SASL)/.test(code) || /^SASL|client password must be/.test(reason),
      'refused the login',
      `${inUrl('user and password')}, or pg_hba.conf on the server`,
    ],
    [code === '3D000', 'does not have this database', `create it, or ${inUrl('its name')}`],
    [
      code.startsWith('53'),
      'has no free connection',
      'lower storage.pool_size, or raise max_connections on the server',
    ],
    [code.startsWith('57P'), 'is starting or stopping', 'wait until it is running'],
    [reason.includes('query_wait_timeout'), 'is a pooler without a free session', 'raise its default_pool_size'],
    [
      reason.includes('unsupported startup parameter'),
      'is a pooler that refused a parameter',
      `remove it from ${field}, or add it to ignore_startup_parameters of the pooler`,
    ],
    [code === '08P01', 'is a pooler that ended the connection', `check its log, and ${inUrl('the names')}`],
    [
      code === 'ECONNREFUSED' || code === 'ENOENT',
      'does not respond',
      `no server listens there: start it, or ${inUrl('host and port')}`,
    ],
    [
      code === 'ENOTFOUND' || code === 'EAI_AGAIN',
      'could not be resolved',
      `${inUrl('the host')}, or check DNS on this machine`,
    ],
    [
      // Only errors that the server sent have a severity.
      error instanceof Error && 'severity' in error,
      'returned an error',
      'check its log, and run `recalld doctor`',
    ],
  ];
  const [, problem, advice] = causes.find(([isIt]) => isIt) ?? [
    true,
    'does not respond',
    `check whether the server is down behind a proxy, overloaded, or blocked by a firewall, and check that the host and port in ${field} are correct`,
  ];
  return [problem, advice];
}

/**
 * SQLSTATE classes for a server that is unreachable, starting, stopping, full or out of connections, or that ended an
 * idle connection.
 */
const OUTAGE_STATES = /^(08|53|57P|25P03)/;
const OUTAGE_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);
/** `pg` errors that have no code. */
const OUTAGE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/;

/** True if the database is temporarily unreachable, not only busy or read-only. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return OUTAGE_STATES.test(code) || OUTAGE_ERRORS.has(code) || OUTAGE_MESSAGES.test(error.message);
}

/** Returns the error for a failure that a retry may fix; null for any other failure, such as a bug in recalld. */
export function outageOf(options: PoolConfig, error: unknown): RecalldError | null {
  if (!(error instanceof Error)) return null;
  const code = codeOf(error);
  const isTemporary = code === READ_ONLY || BUSY_STATES.has(code) || isOutage(error);
  return isTemporary ? unreachable(options, error) : null;
}

/** Runs `work`. Converts an error that a retry may fix into a RecalldError; rethrows any other error. */
export async function namingOutage<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw outageOf(pool.options, cause) ?? cause;
  }
}
