import { createServer } from 'node:net';
import { RecalldError } from '../../errors.ts';

/** The only address on which the embedded PostgreSQL listens. */
export const host = '127.0.0.1';

/**
 * A TCP port of the loopback address that was free a moment ago.
 * @throws RecalldError `embedded_database_failed` if the system gives none.
 */
export async function freePort(): Promise<number> {
  const port = await listenOn(0);
  if (port !== null) return port;
  throw new RecalldError(
    'embedded_database_failed',
    `The embedded PostgreSQL needs a free port on ${host}, and the system gives none.`,
  );
}

/** Whether nobody listens on that port of the loopback address, now. */
export async function isFree(port: number): Promise<boolean> {
  return (await listenOn(port)) !== null;
}

/** Takes the port (0 = any) for a moment; null if it cannot be had. */
async function listenOn(port: number): Promise<number | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen(port, host, () => {
      const address = server.address();
      const found = typeof address === 'object' && address !== null ? address.port : null;
      server.close(() => resolve(found));
    });
  });
}
