/**
 * Ingest API of a daemon on loopback, which records requests and responds as the test specifies.
 *
 *     const daemon = await startRecordingDaemon();            // responds with 202 and closes when the test ends
 *     daemon.respondWith(inTurn(status(503), accept()));
 *     daemon.items('/v1/queries')                             // of all accepted requests, in order of arrival
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';

export type Item = Readonly<Record<string, unknown>>;

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Body as sent, before decompression. */
  readonly bytes: Buffer;
  /** Items of the JSON array, or the single JSON object; empty if the body is not JSON. */
  readonly items: readonly Item[];
  /** HTTP status of the response to this request; 0 until a response is sent. */
  readonly status: number;
}

export type Responder = (request: RecordedRequest, response: ServerResponse) => void;

export interface RecordingDaemon {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** Open connections. */
  readonly connections: number;
  items(path: string): Item[];
  respondWith(responder: Responder): void;
  close(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1, or on `port`, as a restarted daemon does. */
export async function startRecordingDaemon(respond: Responder = accept(), port = 0): Promise<RecordingDaemon> {
  const requests: RecordedRequest[] = [];
  let responder = respond;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => undefined);
    incoming.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const request = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        bytes,
        items: itemsOf(bytes, incoming.headers),
        get status() {
          return response.headersSent ? response.statusCode : 0;
        },
      };
      requests.push(request);
      responder(request, response);
    });
  });
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    socket.on('close', () => {
      connections -= 1;
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    get connections() {
      return connections;
    },
    items: (path) =>
      requests.flatMap((request) => (request.path === path && request.status === 202 ? request.items : [])),
    respondWith(next) {
      responder = next;
    },
    close,
  };
}

function itemsOf(bytes: Buffer, headers: IncomingHttpHeaders): Item[] {
  if (!(headers['content-type'] ?? '').startsWith('application/json')) return [];
  const plain = headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
  const body = JSON.parse(plain.toString('utf8')) as Item | Item[];
  return Array.isArray(body) ? body : [body];
}

/**
 * Responds with 202 and the counts that a daemon returns; `rejected` contains the index and the code of each refused
 * item.
 */
export function accept(rejected: readonly { readonly index: number; readonly code: string }[] = []): Responder {
  return ({ items }, response) => {
    const body = {
      accepted: items.length - rejected.length,
      sampled: 0,
      duplicates: 0,
      rejected: rejected.map((rejection) => ({ ...rejection, message: 'It is not as it should be.' })),
    };
    response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
}

export function status(code: number, headers: Readonly<Record<string, string>> = {}, body = ''): Responder {
  return (_request, response) => response.writeHead(code, headers).end(body);
}

/** Reads the request and never responds. */
export function hang(): Responder {
  return () => undefined;
}

/** Sends the first request to the first responder, and so on. The last responder also gets all further requests. */
export function inTurn(...responders: readonly [Responder, ...Responder[]]): Responder {
  let seen = 0;
  return (request, response) => {
    const responder = responders[Math.min(seen, responders.length - 1)] ?? responders[0];
    seen += 1;
    responder(request, response);
  };
}
