/**
 * One HTTP request and its answer, bounded in time and in bytes.
 *
 * It stands on node:http because fetch cannot keep the promises of the port: after an abort it opens another
 * connection that stays idle, an abort while connecting keeps the process alive, and it refuses to call a list of
 * ports (6000 among them).
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp, STATUS_CODES } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { RetrieverAddress } from './address.ts';
import { classifyConnectionFailure } from './connection-failure.ts';

export interface ExchangeRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface ExchangeLimits {
  /** For the whole attempt: lookup, connection, request, and the answer to its last byte. */
  readonly timeoutMs: number;
  /** For the body after decompression. */
  readonly maxResponseBytes: number;
}

export type ExchangeResult =
  | { readonly kind: 'body'; readonly text: string; readonly contentType: string | null }
  | {
      readonly kind: 'failure';
      readonly code: string;
      readonly message: string;
      readonly isRetryable: boolean;
      /** What the service said in Retry-After, unparsed. */
      readonly retryAfter: string | null;
    }
  | { readonly kind: 'timeout' };

/** Sends one request; see createExchange. */
export type Exchange = (request: ExchangeRequest, signal: AbortSignal) => Promise<ExchangeResult>;

/** Below the 5 s after which common servers close an idle connection, so that we rarely write to a closed one. */
const IDLE_CONNECTION_MS = 4000;

/** The longest error page that is read so that its connection can be used again. */
const MAX_DISCARDED_BYTES = 64 * 1024;

class BodyTooLarge extends Error {}

/**
 * Creates the sender for one address, with its own pool of connections. Idle ones close by themselves after 4 s and
 * do not keep the process alive, so the pool needs no closing. Redirects are not followed: one could lead the query,
 * and the headers with their secrets, to another host.
 *
 * Failures are results; the only rejection is the reason of `signal`, at once when it aborts. Whatever the end, no
 * timer and no listener stays behind, and a connection with an unread answer is closed.
 */
export function createExchange(address: RetrieverAddress, limits: ExchangeLimits): Exchange {
  const pool = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
  const agent = address.isSecure ? new HttpsAgent(pool) : new HttpAgent(pool);
  const open = address.isSecure ? requestHttps : requestHttp;

  return async ({ url, method, headers, body }, signal) => {
    signal.throwIfAborted();
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = open(url, { method, headers: { ...headers, ...length }, agent });
    let isTimedOut = false;
    const timer = setTimeout(() => {
      isTimedOut = true;
      outgoing.destroy();
    }, limits.timeoutMs);
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
        const text = await readBody(response, limits.maxResponseBytes);
        return { kind: 'body', text, contentType: response.headers['content-type'] ?? null };
      }
      await discardBody(response);
      signal.throwIfAborted();
      return describeStatus(status, response, address);
    } catch (error) {
      signal.throwIfAborted();
      if (isTimedOut) return { kind: 'timeout' };
      return describeFailure(error, address, limits);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
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
  const through = (decoder: NodeJS.ReadWriteStream & Readable) =>
    pipeline(response, decoder, () => undefined);
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

const wayOut = new Map([
  [400, '; check retriever.body'],
  [401, '; check retriever.headers'],
  [403, '; check retriever.headers'],
  [404, '; check retriever.url'],
  [405, '; check retriever.method'],
  [415, '; check retriever.headers'],
  [422, '; check retriever.body'],
]);

function describeStatus(
  status: number,
  { headers }: IncomingMessage,
  address: RetrieverAddress,
): ExchangeResult {
  // The phrase of the standard, since the one that was sent may say anything.
  const phrase = STATUS_CODES[status];
  const answered = `${address.label} answered ${status}${phrase === undefined ? '' : ` ${phrase}`}`;
  const isRedirect = [301, 302, 303, 307, 308].includes(status);
  const target = isRedirect ? address.describeRedirect(headers.location ?? '') : '';
  return {
    kind: 'failure',
    code: isRedirect ? 'http_redirect' : `http_${status}`,
    message: isRedirect
      ? `${answered}, and redirects are not followed; set retriever.url to ${target}.`
      : `${answered}${wayOut.get(status) ?? ''}.`,
    isRetryable: status === 429 || status >= 500,
    retryAfter: headers['retry-after'] ?? null,
  };
}

function describeFailure(error: unknown, address: RetrieverAddress, limits: ExchangeLimits): ExchangeResult {
  if (error instanceof BodyTooLarge) {
    const message = `${address.label} answered with more than ${limits.maxResponseBytes} bytes; ask for fewer or leaner results.`;
    return { kind: 'failure', code: 'too_large', message, isRetryable: false, retryAfter: null };
  }
  const { code, problem, isRetryable } = classifyConnectionFailure(error);
  if (code === 'timeout') return { kind: 'timeout' };
  return { kind: 'failure', code, message: `${address.label} ${problem}.`, isRetryable, retryAfter: null };
}
