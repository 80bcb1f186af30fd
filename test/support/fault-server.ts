/**
 * A real HTTP server on loopback that responds like a retrieval service and fails in the ways that such services fail.
 *
 *   const server = await startFaultServer(documents([{ id: 'd1', score: 0.9 }]));
 *   server.respondWith(share(0.2, status(500), documents([{ id: 'd1' }])));     // every fifth request fails
 *   server.respondWith(inTurn(reset(), tooManyRequests('1'), documents([])));   // then the last one forever
 *   server.respondWith(when((request) => request.body.includes('refund'), hang(), documents(ranked)));
 *   ... call server.url, inspect server.requests ...
 *   await server.close();                                                       // hanging requests are cut off
 *
 * Documents are sent as `{"results": [{"id", "score"}]}`. Nothing is random, so a test can count requests and responses.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query string as sent. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers one request, or leaves it unanswered. */
export type Responder = (request: ReceivedRequest, response: ServerResponse) => void;

/** A result on the wire; real services also send numbers as ids, or no ids. */
export interface WireDocument {
  readonly id?: string | number | null;
  readonly score?: number | string | null;
}

export interface FaultServer {
  /** URL of the server without a trailing slash, for example http://127.0.0.1:41234. */
  readonly url: string;
  /** Every request that was read completely, in order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  /** Number of connections accepted since the start, which shows whether connections are reused. */
  readonly connections: number;
  /** Number of connections that are open now, which shows whether an aborted call left one open. */
  readonly openConnections: number;
  respondWith(responder: Responder): void;
  /** Closes every connection and stops listening. May be called again. */
  close(): Promise<void>;
}

/** Starts the server on a free port of 127.0.0.1, or on `port`, as when a service comes back at the same address. */
export async function startFaultServer(responder: Responder, port = 0): Promise<FaultServer> {
  const requests: ReceivedRequest[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  let respond = responder;

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const request = {
        method: incoming.method ?? '',
        target: incoming.url ?? '',
        headers: incoming.headers,
        body,
      };
      requests.push(request);
      respond(request, response);
    });
    // In many tests, the client gives up, which causes an error on the request.
    incoming.on('error', () => undefined);
  });
  server.on('connection', (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');

  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    get connections() {
      return connections;
    },
    get openConnections() {
      return open.size;
    },
    respondWith(next) {
      respond = next;
    },
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

// Answers

/** 200 with any JSON. */
export function json(value: unknown, headers: Readonly<Record<string, string>> = {}): Responder {
  return raw(JSON.stringify(value), { 'content-type': 'application/json', ...headers });
}

/** 200 with the given body, unchanged. */
export function raw(body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Responder {
  return (_request, response) => response.writeHead(200, headers).end(body);
}

/** 200 with `{"results": [...]}`; a function ranks each request separately. */
export function documents(
  ranked: readonly WireDocument[] | ((request: ReceivedRequest) => readonly WireDocument[]),
): Responder {
  return (request, response) => {
    const results = typeof ranked === 'function' ? ranked(request) : ranked;
    json({ results })(request, response);
  };
}

/** Returns the documents without their scores. */
export function withoutScores(ranked: readonly WireDocument[]): WireDocument[] {
  return ranked.map(({ id }) => ({ id: id ?? null }));
}

/** Returns each document twice in a row. */
export function withDuplicates(ranked: readonly WireDocument[]): WireDocument[] {
  return ranked.flatMap((document) => [document, document]);
}

/** Replaces the ids with 1, 2, 3, ..., as in a service that uses a serial column. */
export function withNumericIds(ranked: readonly WireDocument[]): WireDocument[] {
  return ranked.map((document, index) => ({ ...document, id: index + 1 }));
}

/** Returns only the first `count` documents, as if the service had found fewer than requested. */
export function fewer(ranked: readonly WireDocument[], count: number): WireDocument[] {
  return ranked.slice(0, count);
}

// Faults

/** 200 with a web page, as a proxy or a login page would send. */
export function html(): Responder {
  return raw('<!doctype html><title>Sign in</title>', { 'content-type': 'text/html; charset=utf-8' });
}

/** An error status with a small JSON body. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Responder {
  return (_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(code === 204 || code === 304 ? undefined : '{"error":"injected"}');
  };
}

/** 429 with Retry-After: seconds, or an HTTP date. */
export function tooManyRequests(retryAfter: string): Responder {
  return status(429, { 'retry-after': retryAfter });
}

export function redirect(location: string, code = 302): Responder {
  return status(code, { location });
}

/** Reads the request and never answers. */
export function hang(): Responder {
  return () => undefined;
}

/** Sends the status, the headers and the start of a body, but never the rest. */
export function hangInBody(): Responder {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"results": [');
  };
}

/** Answers after `delayMs`, unless the client has disconnected. */
export function slow(delayMs: number, then: Responder): Responder {
  return (request, response) => {
    const timer = setTimeout(() => then(request, response), delayMs);
    response.on('close', () => clearTimeout(timer));
  };
}

/** Resets the connection instead of answering. */
export function reset(): Responder {
  return (_request, response) => {
    response.socket?.resetAndDestroy();
  };
}

/** Announces a longer body than it sends, and closes the connection. */
export function truncated(): Responder {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"results": [', () => response.socket?.end());
  };
}

/** 200 with `bytes` of a JSON string, sent as fast as the client reads, without a content length. */
export function huge(bytes: number): Responder {
  return (_request, response) => {
    const chunk = 'x'.repeat(64 * 1024);
    let left = bytes;
    response.writeHead(200, { 'content-type': 'application/json' });
    const write = () => {
      while (left > 0) {
        left -= chunk.length;
        if (!response.write(chunk)) return;
      }
      response.end();
    };
    response.on('drain', write);
    write();
  };
}

// Responders that choose the response by request

/** Sends exactly `ratio` of the requests (0 to 1), evenly spread, to `fault` and the others to `otherwise`. */
export function share(ratio: number, fault: Responder, otherwise: Responder): Responder {
  let seen = 0;
  // In binary floating point, 100 x 0.29 is slightly below 29.
  const faultsAmong = (count: number) => Math.floor(count * ratio + 1e-9);
  return (request, response) => {
    seen += 1;
    const isFaulty = faultsAmong(seen) > faultsAmong(seen - 1);
    (isFaulty ? fault : otherwise)(request, response);
  };
}

/** Sends each request to the next responder in the list; further requests go to the last responder. */
export function inTurn(...responders: readonly [Responder, ...Responder[]]): Responder {
  let seen = 0;
  return (request, response) => {
    const responder = responders[Math.min(seen, responders.length - 1)] ?? responders[0];
    seen += 1;
    responder(request, response);
  };
}

/**
 * Sends requests that match `condition` (for example, requests for one query) to `fault`, and all other requests to
 * `otherwise`.
 */
export function when(
  condition: (request: ReceivedRequest) => boolean,
  fault: Responder,
  otherwise: Responder,
): Responder {
  return (request, response) => (condition(request) ? fault : otherwise)(request, response);
}
