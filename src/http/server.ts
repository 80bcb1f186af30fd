/** The HTTP face of the daemon, with problem documents for everything that goes wrong. */
import { randomUUID } from 'node:crypto';
import rateLimit from '@fastify/rate-limit';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../ports/telemetry.ts';
import { addErasure, type ErasureDeps } from './erasure.ts';
import { acceptGzip } from './inflate.ts';
import { addIngest, type IngestDeps } from './ingest.ts';
import { addOpenApi } from './openapi.ts';
import { addOperations, type OperationsDeps } from './operations.ts';
import { addOtlp, type OtlpDeps } from './otlp.ts';
import { type Problem, plainProblem, problemOf } from './problem.ts';

export interface HttpDeps {
  readonly logger: Logger;
  readonly version: string;
  /** Health and metrics; null: they are shown elsewhere. */
  readonly operations: OperationsDeps | null;
  /** The API; null: this process does not serve it. */
  readonly api: (IngestDeps & OtlpDeps & ErasureDeps & { readonly maxRequestsPerMinute: number }) | null;
  /** Counts a request that was sent away for now. */
  onShed(reason: 'database' | 'overload' | 'rate_limit'): void;
}

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

export interface HttpServer {
  readonly url: string;
  close(): Promise<void>;
}

/** How soon a client that was sent away may come back. */
const RETRY_AFTER_SECONDS = 2;

/** Holds a thousand queries with vectors of 1,536 numbers as text. */
const BODY_LIMIT = 32 * 1024 * 1024;

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
    bodyLimit: BODY_LIMIT,
    genReqId: (request) => knownRequestId(request.headers['x-request-id']) ?? randomUUID(),
  });
  if (deps.operations !== null) addOperations(app, deps.operations);
  if (deps.api !== null) {
    const { api } = deps;
    await app.register(rateLimit, {
      max: api.maxRequestsPerMinute,
      timeWindow: 60_000,
      keyGenerator: (request) => request.headers.authorization ?? request.ip,
      allowList: (request) => !request.url.startsWith('/v1/'),
    });
    addOpenApi(app, deps.version);
    addOtlp(app, api, RETRY_AFTER_SECONDS);
    void app.register(async (scope) => {
      acceptGzip(scope, BODY_LIMIT);
      addIngest(scope, api);
      addErasure(scope, api);
    });
  }
  addProblems(app, deps);
  try {
    const url = await app.listen({ host: address.host, port: address.port });
    return { url, close: () => app.close() };
  } catch (cause) {
    throw listenFailure(cause, address, setting);
  }
}

/** The caller's id of the request, when it is one that a log can hold. */
function knownRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(header) ? header : null;
}

function addProblems(app: FastifyInstance, deps: HttpDeps): void {
  app.addHook('onSend', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  app.setNotFoundHandler((request, reply) =>
    sendProblem(reply, plainProblem(404, `There is no ${request.method} ${pathOf(request.url)}.`)),
  );
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    if (error instanceof RecalldError) {
      if (error.retryable) {
        deps.onShed(error.code === 'overloaded' ? 'overload' : 'database');
        reply.header('retry-after', RETRY_AFTER_SECONDS);
      }
      return sendProblem(reply, problemOf(error.code, error.message));
    }
    const status = error.statusCode ?? 500;
    if (status === 429) deps.onShed('rate_limit');
    if (status < 500) return sendProblem(reply, plainProblem(status, refusalSentence(status)));
    deps.logger.error('a request failed', {
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

/** Never the words of the parser, which quote the body, and with it what a user asked. */
function refusalSentence(status: number): string {
  switch (status) {
    case 413:
      return `The body has more than ${BODY_LIMIT} bytes; send smaller batches.`;
    case 415:
      return 'The content type is not understood; send application/json.';
    case 429:
      return 'Too many requests; send larger batches, or wait as Retry-After says.';
    default:
      return 'The request cannot be read; the body must be valid JSON.';
  }
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
