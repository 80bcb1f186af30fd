/** postgres:// URLs as libpq reads them, with the TLS that their `sslmode` asks for. */
import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { Client, type PoolConfig } from 'pg';
import { messageOf, RecalldError } from '../../core/errors.ts';

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;
type SslMode = (typeof sslModes)[number];

/** Parameters of a URL that say how to speak TLS. Those of pg have another meaning than those of libpq, so pg sees none. */
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

const ENCODING_ADVICE = 'write #, /, ?, @ and % in the user and the password as %23, %2F, %3F, %40 and %25';

/**
 * Says what is wrong with the text of a URL, to be read behind its field: `storage.url names several hosts ...`. Never
 * quotes the URL, which may hold a password in any of its parts. Null: nothing.
 */
export function problemOfDatabaseUrl(text: string): string | null {
  const { authority, path, query } = partsOf(text);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  // A password that was cut by one of its own characters; what comes behind would be taken for the host.
  const isCut = text.includes('#') || path.includes('@') || [...query.keys()].some((name) => name.includes('@'));
  if (isCut) return `is not a URL that can be read; ${ENCODING_ADVICE}`;
  if (host.includes(',') || query.get('host')?.includes(',') === true) {
    return 'names several hosts, and recalld connects to one; name the address that always leads to the primary, such as that of a proxy, a virtual IP or the service of an operator';
  }
  if (/:[^\]:]*[^\]:\d][^\]:]*$/.test(host)) return 'has a port that is not a number';
  if (!canDecode(text)) return `is not a URL that can be read; ${ENCODING_ADVICE}`;
  const mode = query.get('sslmode');
  if (mode !== null && !isSslMode(mode)) return `has an unknown sslmode; it is one of ${sslModes.join(', ')}`;
  if (query.get('sslrootcert') === 'system' && mode !== null && mode !== 'verify-full') {
    return 'has sslrootcert=system, which needs sslmode=verify-full';
  }
  const negotiation = query.get('sslnegotiation');
  if (negotiation !== null && negotiation !== 'postgres' && negotiation !== 'direct') {
    return 'has an unknown sslnegotiation; it is postgres or direct';
  }
  if (negotiation === 'direct' && mode !== null && ['disable', 'allow', 'prefer'].includes(mode)) {
    return 'has sslnegotiation=direct, which needs an sslmode of require, verify-ca or verify-full';
  }
  return null;
}

function partsOf(text: string) {
  const [address = '', ...query] = text.replace(/^postgres(ql)?:\/\//, '').split('?');
  const [authority = '', ...path] = address.split('/');
  return {
    /** User, password, host and port. */
    authority,
    path: path.join('/'),
    query: new URLSearchParams(query.join('?')),
  };
}

function canDecode(text: string): boolean {
  try {
    // The driver's own parser, which has its ways with sockets and with per cent signs.
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

/** How to connect. */
export interface DatabaseRoute {
  readonly connection: PoolConfig;
  /** What to try where that fails: `prefer` goes on without TLS, `allow` begins without it. Null: nothing else. */
  readonly otherwise: PoolConfig | null;
}

/**
 * As libpq: without an `sslmode`, PGSSLMODE counts, then `prefer`; `require` encrypts and checks no certificate unless
 * `sslrootcert` names one; `sslrootcert=system` trusts what the system trusts and checks the name.
 *
 * @param field of the config that holds the URL
 * @throws RecalldError config_invalid for a URL or a file of it that cannot be read; never with the password
 */
export function readDatabaseUrl(text: string, field: string): DatabaseRoute {
  const problem = problemOfDatabaseUrl(text);
  if (problem !== null) throw new RecalldError('config_invalid', `${field} ${problem}.`);
  const { query } = partsOf(text);
  const connectionString = withoutTls(text);
  const plain: PoolConfig = { connectionString, ssl: false };
  const mode = modeOf(query);
  // There is no TLS on a socket of the system.
  if (mode === 'disable' || new Client(plain).host.startsWith('/')) return { connection: plain, otherwise: null };
  const negotiation = query.get('sslnegotiation') === 'direct' ? { sslnegotiation: 'direct' } : {};
  // The types of pg do not know it yet.
  const encrypted = { connectionString, ssl: tlsOf(mode, query, field), ...negotiation } as PoolConfig;
  if (mode === 'prefer') return { connection: encrypted, otherwise: plain };
  if (mode === 'allow') return { connection: plain, otherwise: encrypted };
  return { connection: encrypted, otherwise: null };
}

function modeOf(query: URLSearchParams): SslMode {
  const mode = query.get('sslmode');
  if (mode !== null && isSslMode(mode)) return mode;
  if (query.get('sslrootcert') === 'system') return 'verify-full';
  const { PGSSLMODE: usual = '' } = process.env;
  if (query.get('sslnegotiation') === 'direct') return 'require';
  // The word of pg for it.
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
      const reason = (cause as NodeJS.ErrnoException).code ?? messageOf(cause);
      throw new RecalldError('config_invalid', `${field}: its ${name} names a file that cannot be read (${reason}).`);
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

/** Where the systems keep the certificates that they trust. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
  '/opt/homebrew/etc/ca-certificates/cert.pem',
];

/** Those that the system trusts, by SSL_CERT_FILE or its usual places; those of Node.js where it has neither. */
function systemAuthorities(): string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'system') => string[] };
  const { SSL_CERT_FILE: named } = process.env;
  for (const file of named === undefined ? systemBundles : [named]) {
    try {
      return [readFileSync(file, 'utf8')];
    } catch {
      // The next place.
    }
  }
  return getCACertificates?.('system') ?? [...tls.rootCertificates];
}

/** No answer at all: the other way would bring none either. */
const UNANSWERED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);

/** True if the first way failed in a manner that the other one may not. */
export function mayTryOtherwise(error: unknown): boolean {
  const codes = error instanceof AggregateError ? error.errors.map(codeOf) : [codeOf(error)];
  return !codes.some((code) => UNANSWERED.has(code)) && !messageOf(error).startsWith('timeout ');
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** How long one attempt may take. */
const PATIENCE_MS = 5000;

/**
 * The way that leads to the database now: with TLS or without where the URL leaves it open. Where neither does, the one
 * whose error tells more.
 *
 * @throws RecalldError as readDatabaseUrl
 */
export async function chooseConnection(text: string, field: string): Promise<PoolConfig> {
  const { connection, otherwise } = readDatabaseUrl(text, field);
  if (otherwise === null) return connection;
  const trouble = await attempt(connection);
  if (trouble === null || !mayTryOtherwise(trouble)) return connection;
  const other = await attempt(otherwise);
  return other === null || messageOf(trouble).includes('does not support SSL') ? otherwise : connection;
}

async function attempt(connection: PoolConfig): Promise<unknown> {
  const client = new Client({ ...connection, connectionTimeoutMillis: PATIENCE_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return null;
  } catch (error) {
    return error;
  } finally {
    await client.end().catch(() => undefined);
  }
}
