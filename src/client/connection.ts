/**
 * Sends one POST request to the daemon and reads the response, with limits on time and bytes. Never throws, rejects or
 * emits an error. Uses node:http, which Bun and Deno also support, instead of fetch. A pending fetch keeps the host's
 * process alive until its timeout: if the daemon hangs, every exit of the host would take that long.
 */
import { Buffer } from 'node:buffer';
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { startTimer } from './exit.ts';

/** Maximum size of a response in bytes, large enough for the rejections of 1,000 items. */
const MAX_ANSWER_BYTES = 256 * 1024;

export type Reply =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly retryAfter: string | null;
      /** Body of the response; empty if it was cut off. */
      readonly body: string;
    }
  | { readonly kind: 'failure'; readonly reason: string };

export interface Body {
  readonly bytes: Uint8Array;
  readonly isCompressed: boolean;
}

export interface Connection {
  /** Sends JSON in a POST request to a path under the daemon's base URL. */
  post(path: string, body: Body): Promise<Reply>;
  /** Closes all sockets; a pending request fails. */
  close(): void;
}

/** Creates a connection without opening a socket. `headers` are sent with every request. */
export function openConnection(url: URL, headers: Readonly<Record<string, string>>, timeoutMs: number): Connection {
  const isSecure = url.protocol === 'https:';
  const agent = isSecure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const request = isSecure ? requestHttps : requestHttp;

  return {
    post(path, body) {
      const target = new URL(`${url.pathname.replace(/\/+$/, '')}${path}`, url);
      const options = {
        method: 'POST',
        agent,
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': body.bytes.length,
          ...(body.isCompressed ? { 'content-encoding': 'gzip' } : {}),
        },
      };
      return exchange(() => {
        const sent = request(target, options);
        sent.on('socket', (socket) => socket.unref());
        sent.end(body.bytes);
        return sent;
      }, timeoutMs);
    },
    close() {
      agent.destroy();
    },
  };
}

/** Completes one request with the whole response, a failure or a timeout, whichever comes first. */
function exchange(send: () => ClientRequest, timeoutMs: number): Promise<Reply> {
  return new Promise((resolve) => {
    let sent: ClientRequest | undefined;
    let head: Reply | undefined;
    let isOver = false;

    const finish = (reply: Reply, isWhole: boolean): void => {
      if (isOver) return;
      isOver = true;
      cancelTimer();
      // The socket may be reused only after a complete exchange. If a response arrives before the whole request has
      // been sent, an error (such as EPIPE) while the rest is sent would have no listener and would crash the host.
      if (!isWhole || sent?.writableFinished === false) sent?.destroy();
      resolve(reply);
    };
    // The status decides what happens to the batch, so it is used even if the body never ends.
    const giveUp = (reason: string): void => finish(head ?? { kind: 'failure', reason }, false);
    const cancelTimer = startTimer(() => giveUp(`no response within ${timeoutMs} ms`), timeoutMs);

    const receive = (response: IncomingMessage): void => {
      const answer = {
        kind: 'answer',
        status: response.statusCode ?? 0,
        retryAfter: response.headers['retry-after'] ?? null,
      } as const;
      head = { ...answer, body: '' };
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > MAX_ANSWER_BYTES) giveUp('the response is too long');
      });
      response.on('end', () => finish({ ...answer, body: Buffer.concat(chunks).toString('utf8') }, true));
      response.on('error', (error) => giveUp(nameOf(error)));
    };

    try {
      sent = send();
      sent.on('response', receive);
      sent.on('error', (error) => giveUp(nameOf(error)));
      sent.on('close', () => giveUp('the connection was closed'));
    } catch (error) {
      giveUp(nameOf(error));
    }
  });
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
