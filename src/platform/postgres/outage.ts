/** The sentences for a database that does not answer, or that answers and cannot do what it is asked for now. */
import { Client, type Pool, type PoolConfig } from 'pg';
import { messageOf, RecalldError } from '../../core/errors.ts';

type UrlField = 'storage.url' | 'storage.read_url';

/**
 * Resolves when the database answers.
 *
 * @throws RecalldError database_unreachable with host and reason, never the password
 */
export async function assertReachable(pool: Pool): Promise<void> {
  try {
    await pool.query('select 1');
  } catch (cause) {
    throw unreachable(pool.options, cause);
  }
}

/** SQLSTATE of a write that found no space. */
const DISK_FULL = '53100';
/** Of a write where only reads are allowed. */
const READ_ONLY = '25006';
/** Of a lock that was not had in time, a deadlock, transactions that cross, a statement that took too long. */
const BUSY_STATES = new Set(['55P03', '40P01', '40001', '57014']);

/**
 * The sentence for a query that did not reach its database, or that it could not do.
 *
 * @param field of the config that names the database
 */
export function unreachable(options: PoolConfig, cause: unknown, field: UrlField = 'storage.url'): RecalldError {
  const reason = messageOf(cause);
  const server = nameOfServer(options);
  const code = codeOf(cause);
  if (code === DISK_FULL) {
    const advice = 'free or add space there; a shorter privacy.retention_days keeps less';
    return new RecalldError('database_full', `${server} has no space left to store in (${reason}); ${advice}.`, {
      cause,
    });
  }
  if (code === READ_ONLY) return readOnly(options, reason, cause);
  if (BUSY_STATES.has(code)) {
    const advice =
      'try again; if it lasts, end the session that holds a lock (`recalld doctor`), or raise storage.statement_seconds';
    return new RecalldError('database_busy', `${server} did not get it done in time (${reason}); ${advice}.`, {
      cause,
    });
  }
  const { problem, advice } = causeOf(code, reason, field) ?? withoutCause(cause, field);
  return new RecalldError('database_unreachable', `${server} ${problem} (${reason}); ${advice}.`, { cause });
}

/** @param reason in the words of the server, or ours */
export function readOnly(options: PoolConfig, reason: string, cause?: unknown): RecalldError {
  const advice = 'point storage.url to the primary, or turn default_transaction_read_only off there';
  const message = `${nameOfServer(options)} only reads (${reason}); ${advice}.`;
  return new RecalldError('database_read_only', message, { cause });
}

export function nameOfServer(options: PoolConfig): string {
  const { host, port } = new Client(options);
  return `PostgreSQL at ${host || 'localhost'}:${port || 5432}`;
}

interface Cause {
  /** To be read behind the name of the server. */
  readonly problem: string;
  readonly advice: string;
}

/** Errors of TLS in the words of Node.js, all of them about the certificate of the server. */
const UNTRUSTED = /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_(UNTRUSTED|SIGNATURE|REJECTED)|INVALID_CA/;

function causeOf(code: string, reason: string, field: UrlField): Cause | null {
  const inUrl = (what: string): string => `correct ${what} in ${field}`;
  if (UNTRUSTED.test(code)) {
    return {
      problem: 'has a certificate that is not trusted',
      advice: `let sslrootcert in ${field} name the PEM file of its authority (or NODE_EXTRA_CA_CERTS), or take sslmode=require, which encrypts and checks nothing`,
    };
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return {
      problem: 'has a certificate for another name',
      advice: `name the host as the certificate does in ${field}, or take sslmode=verify-ca, which does not check the name`,
    };
  }
  if (code.startsWith('CERT_')) {
    return { problem: 'has a certificate that is not valid now', advice: 'renew it, or correct the clock' };
  }
  if (reason.includes('does not support SSL')) {
    return {
      problem: 'does not speak TLS',
      advice: `turn ssl on there, or take sslmode=prefer or sslmode=disable in ${field}`,
    };
  }
  if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(code) || /establishing an SSL connection|secure TLS connection/.test(reason)) {
    return {
      problem: 'does not agree on TLS',
      advice: `${inUrl('sslmode, sslcert and sslkey')} (sslnegotiation=direct needs PostgreSQL 17)`,
    };
  }
  if (reason.includes('no encryption')) {
    return {
      problem: 'wants TLS or does not let this user in',
      advice: `take sslmode=require in ${field}, or add a line to pg_hba.conf`,
    };
  }
  if (/^(28|SASL)/.test(code) || /^SASL|client password must be/.test(reason)) {
    return { problem: 'does not let the user in', advice: `${inUrl('user and password')}, or pg_hba.conf there` };
  }
  if (code === '3D000') return { problem: 'has no such database', advice: `create it, or ${inUrl('its name')}` };
  if (code.startsWith('53')) {
    return {
      problem: 'has no connection left',
      advice: 'lower storage.pool_size, or raise max_connections there',
    };
  }
  if (code.startsWith('57P')) return { problem: 'is starting or stopping', advice: 'wait until it is up' };
  if (reason.includes('query_wait_timeout')) {
    return { problem: 'is a pooler without a free session', advice: 'raise its default_pool_size' };
  }
  if (reason.includes('unsupported startup parameter')) {
    return {
      problem: 'is a pooler that refuses a parameter',
      advice: `remove it from ${field}, or add it to ignore_startup_parameters of the pooler`,
    };
  }
  if (code === '08P01')
    return { problem: 'is a pooler that does not go on', advice: `see its log, and ${inUrl('the names')}` };
  if (code === 'ECONNREFUSED' || code === 'ENOENT') {
    return {
      problem: 'does not answer',
      advice: `nothing listens there: start it, or ${inUrl('host and port')}`,
    };
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return { problem: 'cannot be found', advice: `${inUrl('the host')}, or see whether its name can be resolved here` };
  }
  return null;
}

function withoutCause(error: unknown, field: UrlField): Cause {
  // The server said it.
  if (error instanceof Error && 'severity' in error) {
    return { problem: 'answered with an error', advice: 'see its log, and run `recalld doctor`' };
  }
  return {
    problem: 'does not answer',
    advice: `see whether it is up behind a proxy, overloaded, or cut off by a firewall, or correct host and port in ${field}`,
  };
}

/** That of the first of several errors, as when a host has two addresses. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** SQLSTATE classes of a server that is away, starting, stopping, full, has no connection left or ended one that was idle. */
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
/** Errors of `pg` without a code. */
const OUTAGE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/;

/** True if the database is away for now, and not only busy or read-only. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return OUTAGE_STATES.test(code) || OUTAGE_ERRORS.has(code) || OUTAGE_MESSAGES.test(error.message);
}

/** The sentence for an error that another attempt may not meet; null for any other, such as a bug of ours. */
export function outageOf(options: PoolConfig, error: unknown): RecalldError | null {
  if (!(error instanceof Error)) return null;
  const code = codeOf(error);
  const isPassing = code === READ_ONLY || BUSY_STATES.has(code) || isAway(error);
  return isPassing ? unreachable(options, error) : null;
}

/** Runs the work. An error that another attempt may not meet becomes its sentence; any other stays what it is. */
export async function namingOutage<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw outageOf(pool.options, cause) ?? cause;
  }
}
