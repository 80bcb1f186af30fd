/** Requests written to the socket unchanged, by clients that misbehave. */
import { connect, type Socket } from 'node:net';

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The body, which is written unchanged after the head. Content-Length is added unless `headers` contains
   * Content-Length or Transfer-Encoding.
   */
  readonly body: Uint8Array | string;
  readonly manners: Manners;
}

/**
 * Behavior of a client after it has written its request: it reads the response; closes its sending side and reads the
 * response; never reads; disconnects at once; or disconnects at the first byte of the response.
 */
export const manners = ['reads', 'ends', 'never reads', 'goes', 'goes when answered'] as const;
export type Manners = (typeof manners)[number];

/**
 * Status of the response; null if the client did not wait for a response, or if the connection was closed before one
 * arrived.
 */
export type Outcome = number | null;

export interface RawClients {
  /** Resolves when the client has its response, has disconnected, or gives up waiting. */
  send(request: RawRequest): Promise<Outcome>;
  /** Closes the connections of clients that never read. */
  close(): void;
}

/** Clients of one server, each with its own connection and address. */
export function rawClientsOf(url: string): RawClients {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  let clients = 0;

  const nextAddress = (): string => {
    clients += 1;
    return `127.1.${(clients >> 8) & 255}.${clients & 255 || 1}`;
  };

  return {
    send(request) {
      const socket = connect({ host: hostname, port: Number(port), localAddress: nextAddress() });
      open.add(socket);
      // A server may close the connection while the client sends a body, which causes an error on the socket.
      socket.on('error', () => undefined);
      return new Promise((resolve) => {
        let text = '';
        socket.on('close', () => {
          open.delete(socket);
          resolve(statusOf(answerIn(text)));
        });
        if (request.manners === 'never reads') socket.pause();
        else {
          socket.on('data', (piece) => {
            text += String(piece);
            // A response that arrives before the whole request body has been sent is also final.
            if (request.manners === 'goes when answered' || isWhole(answerIn(text), request.method)) socket.destroy();
          });
        }
        socket.write(headOf(request));
        socket.write(request.body, () => {
          if (request.manners === 'goes') socket.destroy();
          if (request.manners === 'never reads') resolve(null);
        });
        if (request.manners === 'ends') socket.end();
      });
    },
    close() {
      for (const socket of open) socket.destroy();
    },
  };
}

function headOf({ method, path, headers, body }: RawRequest): string {
  const isFramed = 'transfer-encoding' in headers || 'content-length' in headers;
  const all = {
    host: '127.0.0.1',
    ...(isFramed ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

function statusOf(answer: string): Outcome {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
}

/** Skips the interim response 100 Continue. */
function answerIn(text: string): string {
  return text.replace(/^HTTP\/1\.1 100 .*?\r\n\r\n/s, '');
}

function isWhole(answer: string, method: string): boolean {
  const end = answer.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const [head, body] = [answer.slice(0, end), answer.slice(end + 4)];
  if (method === 'HEAD' || /^HTTP\/1\.1 (204|304)/.test(head)) return true;
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  return length === undefined ? body.endsWith('0\r\n\r\n') : Buffer.byteLength(body) >= Number(length);
}
