/** Sends requests over persistent connections, using so little CPU time that the server is the bottleneck. */
import { createConnection, type Socket } from 'node:net';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

export interface Load {
  readonly url: string;
  readonly path: string;
  readonly connections: number;
  readonly seconds: number;
  /** Pause of a connection between a response and its next request. */
  readonly pauseMs?: number;
  /** If true, a response with 503 is counted and the connection pauses; if false, such a response ends the load. */
  readonly mayShed?: boolean;
  readonly body: () => string;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  /** Number of responses with 202. */
  readonly accepted: number;
  /** Number of responses with 503. */
  readonly shed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Tally {
  /** Latencies of responses with 202. */
  readonly latencies: RecordableHistogram;
  shed: number;
}

/**
 * Pause after a response with 503. The pause is shorter than Retry-After demands; otherwise the load would not overload
 * the server.
 */
const SHED_PAUSE_MS = 100;

/** @throws Error for any response other than 202; if `mayShed` is true, 503 is allowed too */
export async function sendLoad(load: Load): Promise<LoadResult> {
  const tally: Tally = { latencies: createHistogram(), shed: 0 };
  const { latencies } = tally;
  const until = performance.now() + load.seconds * 1000;
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: load.connections }, () => useConnection(load, until, tally)));
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    requestsPerSecond: latencies.count / seconds,
    accepted: latencies.count,
    shed: tally.shed,
    p50Ms: latencies.percentile(50) / 1e3,
    p99Ms: latencies.percentile(99) / 1e3,
  };
}

function useConnection(load: Load, until: number, tally: Tally): Promise<void> {
  const { hostname, port } = new URL(load.url);
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: hostname, port: Number(port), noDelay: true });
    let sentAt = 0;
    let received = '';
    const send = (): void => {
      if (performance.now() >= until) {
        socket.end();
        resolve();
        return;
      }
      sentAt = performance.now();
      post(socket, load, hostname);
    };
    socket.setEncoding('latin1');
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk: string) => {
      received += chunk;
      const end = endOfAnswer(received);
      if (end === null) return;
      const isShed = load.mayShed === true && received.startsWith('HTTP/1.1 503');
      if (!isShed && !received.startsWith('HTTP/1.1 202')) {
        socket.destroy();
        reject(new Error(`The server answers ${received.slice(0, 500)}`));
        return;
      }
      received = received.slice(end);
      if (isShed) tally.shed += 1;
      else tally.latencies.record(Math.max(1, Math.round((performance.now() - sentAt) * 1e3)));
      const pauseMs = isShed ? SHED_PAUSE_MS : load.pauseMs;
      if (pauseMs === undefined) send();
      else setTimeout(send, pauseMs);
    });
  });
}

function post(socket: Socket, { path, body }: Load, host: string): void {
  const text = body();
  const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`;
  socket.write(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

/** Returns the position in the buffer at which the response ends; null while the response is incomplete. */
function endOfAnswer(received: string): number | null {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, headEnd))?.[1];
  if (length === undefined) throw new Error('The server answers without a content-length.');
  const end = headEnd + 4 + Number(length);
  return received.length >= end ? end : null;
}
