/** Health and metrics. */
import type { FastifyInstance } from 'fastify';

export interface Unready {
  readonly name: string;
  readonly reason: string;
}

export interface OperationsDeps {
  readonly metrics: { readonly contentType: string; scrape(): Promise<string> };
  /** What keeps the daemon from doing its work now; empty when nothing does. */
  unready(): Promise<readonly Unready[]>;
}

export function addOperations(app: FastifyInstance, deps: OperationsDeps): void {
  // Alive means that this process turns its event loop; it never asks a dependency, or a database that is down
  // would have every daemon restarted.
  app.get('/livez', () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const unready = await deps.unready();
    return reply
      .code(unready.length === 0 ? 200 : 503)
      .send({ ready: unready.length === 0, not_ready: unready });
  });

  app.get('/metrics', async (_request, reply) => {
    const text = await deps.metrics.scrape();
    return reply.header('content-type', deps.metrics.contentType).send(text);
  });
}
