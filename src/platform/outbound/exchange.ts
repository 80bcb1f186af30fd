/**
 * One HTTP request and its answer, bounded in time and in bytes, through a proxy where the config names one; without
 * an answer, a short stable code says why.
 *
 * It stands on node:http because fetch cannot keep the promises of the port: after an abort it opens another
 * connection that stays idle, an abort while connecting keeps the process alive, and it refuses to call a list of
 * ports (6000 among them).
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
import { RecalldError } from '../../core/errors.ts';

interface ConnectionFailure {
  /** `timeout` when the network itself gave up waiting. */
  readonly code: string;
  /** What happened, to be read behind the name of the service. */
  readonly problem: string;
  /** Whether a second attempt may fare better. */
  readonly isRetryable: boolean;
}

const RESET = {
  code: 'connection_reset',
  problem: 'closed the connection before the answer was complete',
  isRetryable: true,
};
const REFUSED = {
  code: 'connection_refused',
  problem: 'refuses connections; check that the service is up and the port is right',
  isRetryable: true,
};
const UNREACHABLE = {
  code: 'host_unreachable',
  problem: 'cannot be reached: there is no route to the host',
  isRetryable: true,
};
const TIMEOUT = { code: 'timeout', problem: 'did not answer in time', isRetryable: false };

const failures = new Map<string, ConnectionFailure>([
  ['ECONNREFUSED', REFUSED],
  ['ECONNRESET', RESET],
  ['EPIPE', RESET],
  ['ERR_STREAM_PREMATURE_CLOSE', RESET],
  ['EHOSTUNREACH', UNREACHABLE],
  ['ENETUNREACH', UNREACHABLE],
  ['EADDRNOTAVAIL', UNREACHABLE],
  ['ENOTFOUND', { code: 'dns_not_found', problem: 'has a host name that does not resolve', isRetryable: true }],
  ['EAI_AGAIN', { code: 'dns_failed', problem: 'cannot be looked up: DNS does not answer', isRetryable: true }],
  ['ETIMEDOUT', TIMEOUT],
]);

/**
 * Classifies what a request, or reading its body, threw. The text of the error is never shown, since it may repeat
 * what was sent; its code is.
 */
export function classifyConnectionFailure(error: unknown): ConnectionFailure {
  const code = errorCode(error);
  const known = failures.get(code);
  if (known !== undefined) return known;
  if (/^(EPROTO|ERR_SSL)/.test(code)) {
    const problem = `does not speak TLS as we do (${code}); check that the service is on https`;
    return { code: 'tls_error', problem, isRetryable: false };
  }
  if (/^(ERR_TLS|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_)/.test(code)) {
    const problem = `has a certificate that is not trusted (${code}); NODE_EXTRA_CA_CERTS can name its authority`;
    return { code: 'tls_error', problem, isRetryable: false };
  }
  if (code.startsWith('HPE_')) {
    return { code: 'not_http', problem: `answered something other than HTTP (${code})`, isRetryable: false };
  }
  if (/^Z_|^ERR_(_ERROR_|BROTLI|PADDING)/.test(code)) {
    return {
      code: 'bad_encoding',
      problem: `sent a body that cannot be decompressed (${code})`,
      isRetryable: false,
    };
  }
  const detail = code === '' ? '' : ` (${code})`;
  return { code: 'connection_failed', problem: `cannot be reached${detail}`, isRetryable: true };
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** As it stands in the config: an address, or `environment` for HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
export type ProxySetting = string;

/**
 * @param url of the service, of which the scheme, the host and the port count; null for no proxy
 * @throws RecalldError config_invalid for a proxy that is no URL
 */
export function proxyFor(setting: ProxySetting | undefined, url: string): URL | null {
  const address = setting === 'environment' ? getProxyForUrl(url) : (setting ?? '');
  if (address === '') return null;
  if (URL.canParse(address)) return new URL(address);
  const where = setting === 'environment' ? 'HTTP_PROXY or HTTPS_PROXY' : '`proxy`';
  throw new RecalldError(
    'config_invalid',
    `${where} is not a URL that can be read; write it like http://proxy.internal:3128.`,
  );
}

/** Connections to one service: https goes through a proxy by CONNECT, so that it sees no more than the host. */
function createAgent(isSecure: boolean, proxy: URL | null, options: AgentOptions): HttpAgent | HttpsAgent {
  if (proxy === null) return isSecure ? new HttpsAgent(options) : new HttpAgent(options);
  return isSecure ? new HttpsProxyAgent(proxy, options) : new HttpProxyAgent(proxy, options);
}

/** The service that is called, as messages may show it. */
export interface ExchangeTarget {
  /** Scheme, host and path, without a query and without a secret. */
  readonly label: string;
  readonly isSecure: boolean;
  /** Where the config describes it, such as `retriever`: messages point there. */
  readonly configField: string;
  /** The key there that holds the address, `url` unless it is called otherwise. */
  readonly urlKey?: string;
  /** The key there that is most likely wrong, by HTTP status; messages of other statuses point to none. */
  readonly suspects: Readonly<Record<number, string>>;
  /** Where a redirect leads, from its Location field, in words that repeat no query. */
  describeRedirect(location: string): string;
}

/** What a TLS connection is made with, as PEM. */
export interface TlsMaterial {
  /** Authorities to trust in place of the built-in ones. */
  readonly ca?: string;
  /** Our own certificate and its key, for services that ask for one. */
  readonly cert?: string;
  readonly key?: string;
}

export interface ExchangeRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** For the whole attempt: lookup, connection, request, and the answer to its last byte. */
  readonly timeoutMs: number;
}

interface ExchangeSettings {
  /** For the body after decompression. */
  readonly maxResponseBytes: number;
  readonly tls?: TlsMaterial;
  /** What the requests go through; see proxyFor. */
  readonly proxy?: URL | null;
}

export type ExchangeResult =
  | { readonly kind: 'body'; readonly text: string; readonly contentType: string | null }
  | {
      readonly kind: 'failure';
      readonly code: string;
      readonly message: string;
      /** HTTP status, null when none arrived. */
      readonly status: number | null;
      readonly isRetryable: boolean;
      /** What the service said in Retry-After, unparsed. */
      readonly retryAfter: string | null;
    }
  | { readonly kind: 'timeout' };

/** Requests to one address; see createExchange. */
export interface Exchange {
  send(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeResult>;
  /** Closes the idle connections, and those of requests under way when they end. */
  close(): void;
}

/** Below the 5 s after which common servers close an idle connection, so that we rarely write to a closed one. */
const IDLE_CONNECTION_MS = 4000;

/** The longest error page that is read so that its connection can be used again. */
const MAX_DISCARDED_BYTES = 64 * 1024;

class BodyTooLarge extends Error {}

/** One attempt as it went out, and what it came to. */
export interface SeenExchange {
  readonly method: string;
  /** Scheme, host and path of the service. */
  readonly label: string;
  readonly body: string | null;
  readonly result: ExchangeResult;
}

const watching = new AsyncLocalStorage<(seen: SeenExchange) => void>();

/** Does `work`, and shows every exchange with a service that it makes. */
export function watchExchanges<T>(see: (seen: SeenExchange) => void, work: () => Promise<T>): Promise<T> {
  return watching.run(see, work);
}

/**
 * Creates the sender for one address, with its own pool of connections. Idle ones close by themselves after 4 s and
 * do not keep the process alive; `close` spares the service that wait. Redirects are not followed: one could lead the
 * query, and the headers with their secrets, to another host.
 *
 * Failures are results; the only rejection is the reason of `signal`, at once when it aborts. Whatever the end, no
 * timer and no listener stays behind, and a connection with an unread answer is closed.
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
          // What breaks the body is thrown where it is read; without a listener it would also end the process.
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
      await discardBody(response);
      signal.throwIfAborted();
      return describeStatus(status, response, target);
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
  // Leaving the loop by an error destroys the stream, which closes the connection.
  for await (const chunk of decompress(response) as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  // Unlike Buffer.toString, it drops a byte order mark.
  return decoderFor(response.headers['content-type']).decode(Buffer.concat(chunks));
}

/** UTF-8, unless the service names another character set that is known. */
function decoderFor(contentType: string | undefined): TextDecoder {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? '')?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

/** Compression is not asked for, but some services compress all the same. */
function decompress(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  // An error reaches the reader through the stream itself.
  const through = (decoder: NodeJS.ReadWriteStream & Readable) => pipeline(response, decoder, () => undefined);
  if (encoding === 'gzip' || encoding === 'x-gzip') return through(createGunzip());
  if (encoding === 'deflate') return through(createInflate());
  if (encoding === 'br') return through(createBrotliDecompress());
  return response;
}

/** Reads a short error page to its end, so that its connection can be used again, and gives up on a longer one. */
async function discardBody(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > MAX_DISCARDED_BYTES) return;
    }
  } catch {
    // The connection broke, or the time was over; the status is known all the same.
  }
}

function describeStatus(status: number, { headers }: IncomingMessage, target: ExchangeTarget): ExchangeResult {
  // The phrase of the standard, since the one that was sent may say anything.
  const phrase = STATUS_CODES[status];
  const answered = `${target.label} answered ${status}${phrase === undefined ? '' : ` ${phrase}`}`;
  const { urlKey = 'url' } = target;
  const suspect = target.suspects[status];
  const wayOut = suspect === undefined ? '' : `; check ${target.configField}.${suspect}`;
  const isRedirect = [301, 302, 303, 307, 308].includes(status);
  const destination = isRedirect ? target.describeRedirect(headers.location ?? '') : '';
  return {
    kind: 'failure',
    code: isRedirect ? 'http_redirect' : `http_${status}`,
    message: isRedirect
      ? `${answered}, and redirects are not followed; set ${target.configField}.${urlKey} to ${destination}.`
      : `${answered}${wayOut}.`,
    status,
    isRetryable: status === 429 || status >= 500,
    retryAfter: headers['retry-after'] ?? null,
  };
}

function describeFailure(error: unknown, target: ExchangeTarget, settings: ExchangeSettings): ExchangeResult {
  if (error instanceof BodyTooLarge) {
    const message = `${target.label} answered with more than ${settings.maxResponseBytes} bytes; ask for fewer or leaner results.`;
    return {
      kind: 'failure',
      code: 'too_large',
      message,
      status: null,
      isRetryable: false,
      retryAfter: null,
    };
  }
  const { code, problem, isRetryable } = classifyConnectionFailure(error);
  if (code === 'timeout') return { kind: 'timeout' };
  const way = settings.proxy == null ? '' : `, or the proxy ${settings.proxy.host} before it,`;
  const message = `${target.label}${way} ${problem}.`;
  return { kind: 'failure', code, message, status: null, isRetryable, retryAfter: null };
}
