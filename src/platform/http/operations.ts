/** Health and metrics, for those who operate the daemon. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Endpoint } from './wire.ts';

const named = z.array(z.object({ name: z.string(), reason: z.string() }));

const degraded = named.describe(
  'What keeps the daemon from a part of its work: `replica`, whose reads the primary answers while it is away; `queue`, whose Redis is full or may throw jobs away; `clock`, which differs from that of the database by more than a minute, so that nothing is started by schedule.',
);

export const operationsEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/livez',
    tag: 'operations',
    summary: 'Whether the process lives. Never asks a dependency.',
    scope: null,
    body: null,
    responses: { '200': { description: 'It lives.', body: z.object({ status: z.literal('ok') }) } },
  },
  {
    method: 'get',
    path: '/readyz',
    tag: 'operations',
    summary: 'Whether the daemon can do its work, and what keeps it from it.',
    scope: null,
    body: null,
    responses: {
      '200': {
        description: 'Ready.',
        body: z.object({ ready: z.literal(true), not_ready: z.array(z.unknown()).max(0), degraded }),
      },
      '503': {
        description: 'Not ready.',
        body: z.object({ ready: z.literal(false), not_ready: named, degraded }),
      },
    },
  },
  {
    method: 'get',
    path: '/metrics',
    tag: 'operations',
    summary: 'Prometheus metrics.',
    scope: null,
    body: null,
    responses: { '200': { description: 'Text of the Prometheus exposition format.', body: null } },
  },
];

export interface Unready {
  readonly name: string;
  readonly reason: string;
}

export interface Readiness {
  /** What keeps the daemon from doing its work now; empty when nothing does. */
  readonly notReady: readonly Unready[];
  /** What is away while something else does its work, or keeps the daemon from a part of it. */
  readonly degraded: readonly Unready[];
}

export interface OperationsDeps {
  readonly metrics: { readonly contentType: string; scrape(): Promise<readonly Buffer[]> };
  readiness(): Promise<Readiness>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of `routeOf`. */
    route?: string;
  }
}

/** The path of the route, empty where there is none. Fastify makes an object each time that it is asked, so it is asked once. */
export function routeOf(request: FastifyRequest): string {
  request.route ??= request.routeOptions.url ?? '';
  return request.route;
}

/** Answered to the end, also by a process that is stopping. */
export const operationPaths: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics']);

export function addOperations(app: FastifyInstance, deps: OperationsDeps): void {
  // Alive means that this process turns its event loop; it never asks a dependency, or a database that is down
  // would have every daemon restarted.
  app.get('/livez', () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const { notReady, degraded } = await deps.readiness();
    const ready = notReady.length === 0;
    return reply.code(ready ? 200 : 503).send({ ready, not_ready: notReady, degraded });
  });

  app.get('/metrics', async (_request, reply) => {
    const parts = await deps.metrics.scrape();
    return reply
      .header('content-type', deps.metrics.contentType)
      .header(
        'content-length',
        parts.reduce((bytes, part) => bytes + part.length, 0),
      )
      .send(Readable.from(chunksOf(parts)));
  });
}

/** Ten megabytes at once would hold up whoever comes meanwhile. */
const CHUNK_BYTES = 256 * 1024;

function* chunksOf(parts: readonly Buffer[]): Generator<Buffer> {
  let [from, bytes] = [0, 0];
  for (const [index, part] of parts.entries()) {
    bytes += part.length;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(parts.slice(from, index + 1), bytes);
    [from, bytes] = [index + 1, 0];
  }
  yield Buffer.concat(parts.slice(from), bytes);
}
