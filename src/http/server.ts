/** The HTTP face of the daemon: health, metrics, and problem documents for everything else. */
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../ports/telemetry.ts';
import { type Problem, plainProblem, problemOf } from './problem.ts';

export interface Unready {
  readonly name: string;
  readonly reason: string;
}

export interface HttpDeps {
  readonly logger: Logger;
  readonly metrics: { readonly contentType: string; scrape(): Promise<string> };
  /** What keeps the daemon from doing its work now; empty when nothing does. */
  unready(): Promise<readonly Unready[]>;
}

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

export interface HttpServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Listens on `address`; port 0 takes a free one.
 *
 * @param setting the config key of the port, for the message when it is taken
 * @throws RecalldError port_in_use
 */
export async function startHttpServer(
  deps: HttpDeps,
  address: HttpAddress,
  setting: string,
): Promise<HttpServer> {
  const app = fastify({
    logger: false,
    return503OnClosing: true,
    forceCloseConnections: 'idle',
    requestTimeout: 30_000,
  });
  addOperations(app, deps);
  addProblems(app, deps.logger);
  try {
    const url = await app.listen({ host: address.host, port: address.port });
    return { url, close: () => app.close() };
  } catch (cause) {
    throw listenFailure(cause, address, setting);
  }
}

function addOperations(app: FastifyInstance, deps: HttpDeps): void {
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

function addProblems(app: FastifyInstance, logger: Logger): void {
  app.setNotFoundHandler((request, reply) =>
    sendProblem(reply, plainProblem(404, `There is no ${request.method} ${pathOf(request.url)}.`)),
  );
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    if (error instanceof RecalldError) return sendProblem(reply, problemOf(error.code, error.message));
    const status = error.statusCode ?? 500;
    if (status < 500) return sendProblem(reply, plainProblem(status, error.message));
    logger.error('a request failed', {
      method: request.method,
      path: pathOf(request.url),
      request_id: request.id,
      reason: error.message,
    });
    return sendProblem(
      reply,
      plainProblem(500, `The request failed; the log of recalld says why, under request id ${request.id}.`),
    );
  });
}

function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.code(problem.status).header('content-type', 'application/problem+json').send(problem);
}

function pathOf(url: string): string {
  return url.split('?')[0] ?? url;
}

function listenFailure(cause: unknown, { host, port }: HttpAddress, setting: string): Error {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === 'EADDRINUSE') {
    return new RecalldError(
      'port_in_use',
      `${host}:${port} is taken by another process; set ${setting} to a free port, or to 0 to take any.`,
      { cause },
    );
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new RecalldError(
      'port_in_use',
      `${host}:${port} cannot be listened on (${code}); mend server.host and ${setting}.`,
      { cause },
    );
  }
  return cause instanceof Error ? cause : new Error(String(cause));
}
