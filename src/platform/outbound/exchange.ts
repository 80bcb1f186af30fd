/**
 * Sends one HTTP request, through a proxy if one is configured, and reads its response. The time for the whole exchange
 * and the size of the response are limited. Each failure has a short stable code. Uses node:http, because fetch
 * opens another connection after an abort and leaves that connection idle, keeps the process alive if a request is
 * aborted while connecting, and refuses some ports (such as 6000).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type AgentOptions,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
  STATUS_CODES,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { HttpProxyAgent } from 'http-proxy-agent';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { getProxyForUrl } from 'proxy-from-env';
import { codeOf, RecalldError } from '../../core/errors.ts';

interface ConnectionFailure {
  /** Failure code; `timeout` if the network reported a timeout. */
  readonly code: string;
  /** Description of the problem, worded to follow the service name. */
  readonly problem: string;
  /** True if a retry may succeed. */
  readonly isRetryable: boolean;
}

/** Error codes of Node.js, and the failures that they mean. `CODE` in a problem is replaced by the error code. */
const failures: readonly (readonly [errors: RegExp, code: string, problem: string, isRetryable: boolean])[] = [
  [
    /^ECONNREFUSED$/,
    'connection_refused',
    'refused the connection; check that the service is running and the port is correct',
    true,
  ],
  [
    /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/,
    'connection_reset',
    'closed the connection before the response was complete',
    true,
  ],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'host_unreachable', 'is unreachable: no route to the host', true],
  [/^ENOTFOUND$/, 'dns_not_found', 'has a host name that DNS cannot resolve', true],
  [/^EAI_AGAIN$/, 'dns_failed', 'could not be resolved: the DNS server did not respond', true],
  [/^ETIMEDOUT$/, 'timeout', 'did not respond in time', false],
  [/^(EPROTO|ERR_SSL)/, 'tls_error', 'failed the TLS handshake (CODE); check that the service uses https', false],
  [
    /^(ERR_TLS|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_)/,
    'tls_error',
    'has an untrusted certificate (CODE); set NODE_EXTRA_CA_CERTS to the PEM file of its authority',
    false,
  ],
  [/^HPE_/, 'not_http', 'did not respond with HTTP (CODE)', false],
  [/^Z_|^ERR_(_ERROR_|BROTLI|PADDING)/, 'bad_encoding', 'sent a body that could not be decompressed (CODE)', false],
  [/^$/, 'connection_failed', 'is unreachable', true],
];

/**
 * Classifies an error from a request or from reading its response. Messages show only the error code, because the error
 * text may repeat the request.
 */
export function classifyConnectionFailure(error: unknown): ConnectionFailure {
  const found = codeOf(error);
  const known = failures.find(([errors]) => errors.test(found));
  const [, code, problem, isRetryable] = known ?? [/./, 'connection_failed', 'is unreachable (CODE)', true];
  return { code, problem: problem.replace('CODE', () => found), isRetryable };
}

/**
 * Returns the proxy for a service; null if no proxy applies.
 *
 * @param setting the proxy's address, or `environment` to use HTTP_PROXY, HTTPS_PROXY and NO_PROXY
 * @param url URL of the service: its scheme, host and port matter
 * @throws RecalldError config_invalid if the proxy is not a URL
 */
export function proxyFor(setting: string | undefined, url: string): URL | null {
  const address = setting === 'environment' ? getProxyForUrl(url) : (setting ?? '');
  if (address === '') return null;
  if (URL.canParse(address)) return new URL(address);
  const where = setting === 'environment' ? 'HTTP_PROXY or HTTPS_PROXY' : '`proxy`';
  throw new RecalldError(
    'config_invalid',
    `${where} is not a valid URL; use a URL such as http://proxy.internal:3128.`,
  );
}

/**
 * Opens the connections to one service. https is tunneled through a proxy with CONNECT, so that the proxy sees only the
 * host.
 */
function createAgent(isSecure: boolean, proxy: URL | null, options: AgentOptions): HttpAgent | HttpsAgent {
  if (proxy === null) return isSecure ? new HttpsAgent(options) : new HttpAgent(options);
  return isSecure ? new HttpsProxyAgent(proxy, options) : new HttpProxyAgent(proxy, options);
}

/** The called service, in a form that is safe to show in messages. */
export interface ExchangeTarget {
  /** Scheme, host and path, without a query or a secret. */
  readonly label: string;
  readonly isSecure: boolean;
  /** Path of the service's config section, such as `retriever`, for use in messages. */
  readonly configField: string;
  /** Config key of the address; default `url`. */
  readonly urlKey?: string;
  /** For each HTTP status, the config key that is most likely wrong. Messages for other statuses name no key. */
  readonly suspects: Readonly<Record<number, string>>;
  /** Describes a redirect target from its Location header, without the query. */
  describeRedirect(location: string): string;
}

/** TLS certificates and key, as PEM. */
export interface TlsMaterial {
  /** Certificate authorities to trust instead of the built-in ones. */
  readonly ca?: string;
  /** Client certificate, for services that require one. */
  readonly cert?: string;
  readonly key?: string;
}

export interface ExchangeRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Time limit for the whole attempt: lookup, connection, request, and response up to its last byte. */
  readonly timeoutMs: number;
}

interface ExchangeSettings {
  /** Size limit for the body after decompression. */
  readonly maxResponseBytes: number;
  readonly tls?: TlsMaterial;
  readonly proxy?: URL | null;
}

export type ExchangeResult =
  | { readonly kind: 'body'; readonly text: string; readonly contentType: string | null }
  | {
      readonly kind: 'failure';
      readonly code: string;
      readonly message: string;
      /** HTTP status; null if there was no response. */
      readonly status: number | null;
      readonly isRetryable: boolean;
      /** Retry-After header, unparsed. */
      readonly retryAfter: string | null;
      /** Body of an error page, up to 64 KB; may repeat the request, so it must not be shown or logged. */
      readonly text?: string;
    }
  | { readonly kind: 'timeout' };

/** Sends requests to one address; see `createExchange`. */
export interface Exchange {
  send(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeResult>;
  /** Closes idle connections now, and busy connections when their requests end. */
  close(): void;
}

/**
 * Time after which an idle connection is closed. Many servers close idle connections after 5 s. This shorter time makes
 * it unlikely that a request uses a connection that the server has already closed.
 */
const IDLE_CONNECTION_MS = 4000;

/** Maximum size of an error page that is read to its end. Reading it to the end allows the connection to be reused. */
const MAX_ERROR_PAGE_BYTES = 64 * 1024;

class BodyTooLarge extends Error {}

/** One attempt to send a request: the request and its result. */
export interface SeenExchange {
  readonly method: string;
  /** Scheme, host and path of the service. */
  readonly label: string;
  readonly body: string | null;
  readonly result: ExchangeResult;
}

const watching = new AsyncLocalStorage<(seen: SeenExchange) => void>();

/** Runs `work` and passes each exchange to `see`. */
export function watchExchanges<T>(see: (seen: SeenExchange) => void, work: () => Promise<T>): Promise<T> {
  return watching.run(see, work);
}

/**
 * Creates the sender for one address, with its own connection pool. Idle connections close after 4 s and do not keep
 * the process alive; `close` closes them earlier. Does not follow redirects, because a redirect could send the query,
 * and headers with secrets, to another host. Failures are returned as results. The promise rejects only if the signal
 * aborts; it then rejects immediately with `signal.reason`. After the promise resolves or rejects, no timer or listener
 * remains, and a connection with an unread response is closed.
 */
export function createExchange(target: ExchangeTarget, settings: ExchangeSettings): Exchange {
  const pool = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
  const agent = createAgent(target.isSecure, settings.proxy ?? null, pool);
  const open = target.isSecure ? requestHttps : requestHttp;

  const send: Exchange['send'] = async ({ url, method, headers, body, timeoutMs }, signal) => {
    signal.throwIfAborted();
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = open(url, { method, headers: { ...headers, ...length }, agent, ...settings.tls });
    let isTimedOut = false;
    const timer = setTimeout(() => {
      isTimedOut = true;
      outgoing.destroy();
    }, timeoutMs);
    const stop = () => outgoing.destroy();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        outgoing.on('error', reject);
        outgoing.on('response', (incoming) => {
          // Body errors are thrown where the body is read. Without this listener, a body error would also end the
          // process.
          incoming.on('error', () => undefined);
          resolve(incoming);
        });
        outgoing.end(body ?? undefined);
      });
      const { statusCode: status = 0 } = response;
      if (status >= 200 && status < 300) {
        const text = await readBody(response, settings.maxResponseBytes);
        return { kind: 'body', text, contentType: response.headers['content-type'] ?? null };
      }
      const text = await readErrorPage(response);
      signal.throwIfAborted();
      return { ...describeStatus(status, response, target), text };
    } catch (error) {
      signal.throwIfAborted();
      if (isTimedOut) return { kind: 'timeout' };
      return describeFailure(error, target, settings);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  };

  return {
    async send(request, signal) {
      const result = await send(request, signal);
      watching.getStore()?.({ method: request.method, label: target.label, body: request.body, result });
      return result;
    },
    close() {
      agent.maxFreeSockets = 0;
      for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    },
  };
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // If the loop ends with an error, the stream is destroyed, which closes the connection.
  for await (const chunk of decompress(response) as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  // Unlike Buffer.toString, TextDecoder drops a byte order mark.
  return decoderFor(response.headers['content-type']).decode(Buffer.concat(chunks));
}

/**
 * Returns the decoder for the character set in a Content-Type header; UTF-8 if the header names no supported character
 * set.
 */
function decoderFor(contentType: string | undefined): TextDecoder {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? '')?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

/** recalld does not request compression, but some services compress their responses anyway. */
function decompress(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  // The stream reports the error to its reader.
  const through = (decoder: NodeJS.ReadWriteStream & Readable) => pipeline(response, decoder, () => undefined);
  if (encoding === 'gzip' || encoding === 'x-gzip') return through(createGunzip());
  if (encoding === 'deflate') return through(createInflate());
  if (encoding === 'br') return through(createBrotliDecompress());
  return response;
}

/** Reads a short error page to its end, so that the connection can be reused. Abandons a longer error page. */
async function readErrorPage(response: IncomingMessage): Promise<string> {
  try {
    return await readBody(response, MAX_ERROR_PAGE_BYTES);
  } catch {
    // The connection failed or timed out, or the error page is too long, but the status is already known.
    return '';
  }
}

function describeStatus(status: number, { headers }: IncomingMessage, target: ExchangeTarget): ExchangeResult {
  // Uses the standard phrase, because the received phrase may contain anything.
  const phrase = STATUS_CODES[status];
  const returned = `${target.label} returned ${status}${phrase === undefined ? '' : ` ${phrase}`}`;
  const { urlKey = 'url' } = target;
  const suspect = target.suspects[status];
  const fix = suspect === undefined ? '' : `; check ${target.configField}.${suspect}`;
  const isRedirect = [301, 302, 303, 307, 308].includes(status);
  const destination = isRedirect ? target.describeRedirect(headers.location ?? '') : '';
  return {
    kind: 'failure',
    code: isRedirect ? 'http_redirect' : `http_${status}`,
    message: isRedirect
      ? `${returned}, and redirects are not followed; set ${target.configField}.${urlKey} to ${destination}.`
      : `${returned}${fix}.`,
    status,
    isRetryable: status === 429 || status >= 500,
    retryAfter: headers['retry-after'] ?? null,
  };
}

function failure(code: string, message: string, isRetryable: boolean): ExchangeResult {
  return { kind: 'failure', code, message, status: null, isRetryable, retryAfter: null };
}

function describeFailure(error: unknown, target: ExchangeTarget, settings: ExchangeSettings): ExchangeResult {
  if (error instanceof BodyTooLarge) {
    const problem = `returned more than ${settings.maxResponseBytes} bytes; request fewer or smaller results`;
    return failure('too_large', `${target.label} ${problem}.`, false);
  }
  const { code, problem, isRetryable } = classifyConnectionFailure(error);
  if (code === 'timeout') return { kind: 'timeout' };
  const way = settings.proxy == null ? '' : `, or its proxy ${settings.proxy.host},`;
  return failure(code, `${target.label}${way} ${problem}.`, isRetryable);
}
