import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Checks that a port is available by listening on it briefly. Returns the port, which is then free again.
 *
 * @throws the system's error
 */
export async function tryPort(port: number, host: string): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  const { port: found } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return found;
}
