/** Parses postgres:// URLs as libpq does, including the TLS mode in `sslmode`. */
import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { Client, type PoolConfig } from 'pg';
import { codeOf, messageOf, RecalldError } from '../../core/errors.ts';

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;
type SslMode = (typeof sslModes)[number];

/** URL parameters for TLS. pg interprets them differently from libpq, so they are removed before pg parses the URL. */
const tlsParameters = [
  'ssl',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslpassword',
  'uselibpqcompat',
] as const;

const ENCODING_ADVICE = 'write #, /, ?, @ and % in the user and password as %23, %2F, %3F, %40 and %25';

/**
 * Returns the problem with a URL, worded to follow its field name: `storage.url names several hosts ...`; null if the
 * URL is valid. Never quotes the URL, because any part may contain the password.
 */
export function problemOfDatabaseUrl(text: string): string | null {
  const { authority, path, query } = partsOf(text);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  // An unescaped character in the password probably ends the authority of the URL early, so part of the credentials
  // would be parsed as the host.
  const isCut = text.includes('#') || path.includes('@') || [...query.keys()].some((name) => name.includes('@'));
  if (isCut) return `is not a valid URL; ${ENCODING_ADVICE}`;
  if (host.includes(',') || query.get('host')?.includes(',') === true) {
    return 'names several hosts, but recalld connects to one; use an address that always leads to the primary, such as a proxy, a virtual IP, or the service that a Kubernetes operator provides';
  }
  if (/:[^\]:]*[^\]:\d][^\]:]*$/.test(host)) return 'has a port that is not a number';
  if (!canDecode(text)) return `is not a valid URL; ${ENCODING_ADVICE}`;
  const mode = query.get('sslmode');
  if (mode !== null && !isSslMode(mode)) return `has an unknown sslmode; use one of ${sslModes.join(', ')}`;
  if (query.get('sslrootcert') === 'system' && mode !== null && mode !== 'verify-full') {
    return 'has sslrootcert=system, which requires sslmode=verify-full';
  }
  const negotiation = query.get('sslnegotiation');
  if (negotiation !== null && negotiation !== 'postgres' && negotiation !== 'direct') {
    return 'has an unknown sslnegotiation; use postgres or direct';
  }
  if (negotiation === 'direct' && mode !== null && ['disable', 'allow', 'prefer'].includes(mode)) {
    return 'has sslnegotiation=direct, which requires sslmode=require, verify-ca or verify-full';
  }
  return null;
}

function partsOf(text: string) {
  const [address = '', ...query] = text.replace(/^postgres(ql)?:\/\//, '').split('?');
  const [authority = '', ...path] = address.split('/');
  return {
    /** User, password, host and port, as written in the URL. */
    authority,
    path: path.join('/'),
    query: new URLSearchParams(query.join('?')),
  };
}

function canDecode(text: string): boolean {
  try {
    // Uses the driver's parser, because the driver has special rules for sockets and percent signs.
    return typeof new Client({ connectionString: withoutTls(text) }).host === 'string';
  } catch {
    return false;
  }
}

const isSslMode = (text: string): text is SslMode => (sslModes as readonly string[]).includes(text);

function withoutTls(text: string): string {
  const [address = '', ...query] = text.split('?');
  const parameters = new URLSearchParams(query.join('?'));
  for (const name of tlsParameters) parameters.delete(name);
  return parameters.size === 0 ? address : `${address}?${parameters}`;
}

export interface DatabaseRoute {
  readonly connection: PoolConfig;
  /**
   * Fallback connection: `prefer` falls back to no TLS, and `allow` falls back to TLS; null if there is no fallback.
   */
  readonly fallback: PoolConfig | null;
}

/**
 * Parses a URL as libpq does. If the URL has no `sslmode`, PGSSLMODE applies; if PGSSLMODE is not set either, `prefer`
 * applies. `require` encrypts, and checks the certificate only if `sslrootcert` is set. `sslrootcert=system` trusts the
 * system's authorities and checks the host name.
 *
 * @param field config field that holds the URL, for messages
 * @throws RecalldError config_invalid if the URL is invalid or a file cannot be read; the message never contains the
 * password
 */
export function readDatabaseUrl(text: string, field: string): DatabaseRoute {
  const problem = problemOfDatabaseUrl(text);
  if (problem !== null) throw new RecalldError('config_invalid', `${field} ${problem}.`);
  const { query } = partsOf(text);
  const connectionString = withoutTls(text);
  const plain: PoolConfig = { connectionString, ssl: false };
  const mode = modeOf(query);
  // Unix sockets do not use TLS.
  if (mode === 'disable' || new Client(plain).host.startsWith('/')) return { connection: plain, fallback: null };
  const negotiation = query.get('sslnegotiation') === 'direct' ? { sslnegotiation: 'direct' } : {};
  // pg's type definitions lack sslnegotiation.
  const encrypted = { connectionString, ssl: tlsOf(mode, query, field), ...negotiation } as PoolConfig;
  if (mode === 'prefer') return { connection: encrypted, fallback: plain };
  if (mode === 'allow') return { connection: plain, fallback: encrypted };
  return { connection: encrypted, fallback: null };
}

function modeOf(query: URLSearchParams): SslMode {
  const mode = query.get('sslmode');
  if (mode !== null && isSslMode(mode)) return mode;
  if (query.get('sslrootcert') === 'system') return 'verify-full';
  const { PGSSLMODE: usual = '' } = process.env;
  if (query.get('sslnegotiation') === 'direct') return 'require';
  // `ssl` is a pg parameter.
  const ssl = query.get('ssl');
  if (ssl !== null) return ['0', 'false'].includes(ssl) ? 'disable' : 'verify-full';
  return isSslMode(usual) ? usual : 'prefer';
}

function tlsOf(mode: SslMode, query: URLSearchParams, field: string): tls.ConnectionOptions {
  const root = query.get('sslrootcert');
  const [cert, key, passphrase] = [query.get('sslcert'), query.get('sslkey'), query.get('sslpassword')];
  const read = (name: string, file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (cause) {
      const reason = codeOf(cause) || messageOf(cause);
      throw new RecalldError('config_invalid', `${field}: the ${name} file could not be read (${reason}).`);
    }
  };
  const checksChain = mode.startsWith('verify') || (mode === 'require' && root !== null);
  return {
    rejectUnauthorized: checksChain,
    ...(root === null ? {} : { ca: root === 'system' ? systemAuthorities() : read('sslrootcert', root) }),
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    ...(cert === null ? {} : { cert: read('sslcert', cert) }),
    ...(key === null ? {} : { key: read('sslkey', key) }),
    ...(passphrase === null ? {} : { passphrase }),
  };
}

/** Paths where common systems store trusted certificates. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
  '/opt/homebrew/etc/ca-certificates/cert.pem',
];

/**
 * Returns the certificates of the authorities that the system trusts, from SSL_CERT_FILE or the usual paths. If the
 * system trusts no authorities, returns Node.js's built-in certificates.
 */
function systemAuthorities(): string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'system') => string[] };
  const { SSL_CERT_FILE: named } = process.env;
  for (const file of named === undefined ? systemBundles : [named]) {
    try {
      return [readFileSync(file, 'utf8')];
    } catch {
      // A path that does not exist is skipped.
    }
  }
  return getCACertificates?.('system') ?? [...tls.rootCertificates];
}

/**
 * Error codes for a server that does not respond. The fallback connects to the same server, so it would fail too.
 */
const UNANSWERED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);

/** True if the fallback may succeed after this error. */
export function mayFallBack(error: unknown): boolean {
  const codes = error instanceof AggregateError ? error.errors.map(codeOf) : [codeOf(error)];
  return !codes.some((code) => UNANSWERED.has(code)) && !messageOf(error).startsWith('timeout ');
}

const TIMEOUT_MS = 5000;

/**
 * Returns the connection for a URL. If the URL allows connections both with and without TLS, tries them in order of
 * preference, and returns the first that works. If neither works, returns the connection with the more specific error.
 *
 * @throws RecalldError like readDatabaseUrl
 */
export async function chooseConnection(text: string, field: string): Promise<PoolConfig> {
  const { connection, fallback } = readDatabaseUrl(text, field);
  if (fallback === null) return connection;
  const error = await attempt(connection);
  if (error === null || !mayFallBack(error)) return connection;
  const second = await attempt(fallback);
  return second === null || messageOf(error).includes('does not support SSL') ? fallback : connection;
}

function attempt(connection: PoolConfig): Promise<unknown> {
  return withClient(connection, async () => null).catch((error: unknown) => error);
}

/** Opens one connection for `work`. @throws `pg` errors, including a timeout after five seconds; the errors of `work` */
export async function withClient<T>(connection: PoolConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ ...connection, connectionTimeoutMillis: TIMEOUT_MS });
  // Without a listener, a connection error would end this process. The pending call rejects with the same error.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
