/**
 * Proxies that sit between an adapter and its store and can make the store unavailable: one for HTTP, one for any other
 * protocol.
 */
import {
  type FaultServer,
  hang,
  inTurn,
  type ReceivedRequest,
  type Responder,
  startFaultServer,
  status,
} from './fault-server.ts';
import { startTcpGate } from './tcp-gate.ts';

export interface Outage {
  /** Address to give to the adapter instead of the store's address. */
  readonly url: string;
  /** Stops answering: from now on, requests arrive but get no response. */
  hold(): void;
  /** Refuses connections from now on. */
  refuse(): Promise<void>;
  /** HTTP only: answers the next requests with these statuses, one each; the store answers all later requests. */
  answer?(...statuses: readonly number[]): void;
  /** Number of connections that the adapter holds open. */
  readonly openConnections: number;
  close(): Promise<void>;
}

export async function startHttpOutage(url: string): Promise<Outage> {
  const server: FaultServer = await startFaultServer(forward(url));
  return {
    url: server.url,
    hold: () => server.respondWith(hang()),
    refuse: () => server.close(),
    answer(...statuses) {
      const faults = statuses.map((code) => status(code, { 'retry-after': '0' }));
      server.respondWith(inTurn(faults[0] ?? forward(url), ...faults.slice(1), forward(url)));
    },
    get openConnections() {
      return server.openConnections;
    },
    close: () => server.close(),
  };
}

export async function startTcpOutage(url: string): Promise<Outage> {
  const address = new URL(url);
  const gate = await startTcpGate({ host: address.hostname, port: Number(address.port) });
  address.hostname = gate.host;
  address.port = String(gate.port);
  return {
    url: address.href,
    hold: () => gate.hold(),
    refuse: () => gate.shut(),
    get openConnections() {
      return gate.openConnections;
    },
    close: () => gate.close(),
  };
}

export interface Forwarded {
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
}

/** Forwards a request to the service at `url`, and its response back to the client. `see` receives both. */
export function forward(url: string, see?: (request: ReceivedRequest, answer: Forwarded) => void): Responder {
  const base = url.replace(/\/+$/, '');
  const passOn = async (...[request, response]: Parameters<Responder>): Promise<void> => {
    const { host: _host, connection: _connection, 'content-length': _length, ...kept } = request.headers;
    const answer = await fetch(`${base}${request.target}`, {
      method: request.method,
      headers: Object.entries(kept).map(([name, value]): [string, string] => [name, String(value)]),
      ...(request.body === '' ? {} : { body: request.body }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const type = answer.headers.get('content-type') ?? 'application/json';
    see?.(request, { status: answer.status, type, bytes });
    response.writeHead(answer.status, { 'content-type': type }).end(bytes);
  };
  return (request, response) => {
    passOn(request, response).catch(() => response.destroy());
  };
}
