/**
 * A TCP relay in front of a service, through which a test can make the service unavailable for one client and restore
 * it. Clients that reach the service directly are not affected.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface TcpGate {
  readonly host: string;
  readonly port: number;
  /** Number of open connections from clients. */
  readonly openConnections: number;
  /** Closes all connections and refuses new connections. */
  shut(): Promise<void>;
  /** Keeps all connections open, accepts new connections, and forwards no data. */
  hold(): void;
  /** Forwards everything again. */
  open(): Promise<void>;
  close(): Promise<void>;
}

export async function startTcpGate(target: { readonly host: string; readonly port: number }): Promise<TcpGate> {
  const host = '127.0.0.1';
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let held = false;
  let port = 0;
  let server: Server | undefined;

  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (held) socket.pause();
  };
  const listen = async (): Promise<void> => {
    server = createServer((client) => {
      const upstream = connect(target.port, target.host);
      clients.add(client);
      client.on('close', () => clients.delete(client));
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        keep(one);
        one.on('data', (chunk) => other.write(chunk));
        one.on('close', () => other.destroy());
        if (held) one.pause();
      }
    });
    server.listen(port, host);
    await once(server, 'listening');
    const address = server.address();
    if (address !== null && typeof address !== 'string') port = address.port;
  };
  const shut = async (): Promise<void> => {
    const listening = server;
    server = undefined;
    const closed = listening === undefined ? undefined : once(listening, 'close');
    listening?.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };

  await listen();
  return {
    host,
    get port() {
      return port;
    },
    get openConnections() {
      return clients.size;
    },
    shut,
    hold() {
      held = true;
      for (const socket of sockets) socket.pause();
    },
    async open() {
      held = false;
      for (const socket of sockets) socket.resume();
      if (server === undefined) await listen();
    },
    close: shut,
  };
}
