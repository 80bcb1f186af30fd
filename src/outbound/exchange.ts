/**
 * One HTTP request and its answer, bounded in time and in bytes.
 *
 * It stands on node:http because fetch cannot keep the promises of the port: after an abort it opens another
 * connection that stays idle, an abort while connecting keeps the process alive, and it refuses to call a list of
 * ports (6000 among them).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type IncomingMessage, request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { classifyConnectionFailure } from './connection-failure.ts';
import { createAgent } from './proxy.ts';

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
  return new TextDecoder().decode(Buffer.concat(chunks));
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
