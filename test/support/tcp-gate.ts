/**
 * A TCP relay in front of a service, by which a test takes the service away from one client and gives it back.
 * Others, who reach the service directly, notice nothing.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface TcpGate {
  readonly host: string;
  readonly port: number;
  /** Of clients. */
  readonly openConnections: number;
  /** Cuts every connection and refuses new ones. */
  shut(): Promise<void>;
  /** Keeps every connection, new ones too, and lets nothing through. */
  hold(): void;
  /** Lets everything through again. */
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
