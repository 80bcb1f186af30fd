/** The endpoints for health and metrics. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { limitMetrics } from '../metrics/limit-metrics.ts';
import type { Endpoint } from './wire.ts';

const named = z.array(z.object({ name: z.string(), reason: z.string() }));

const degraded = named.describe(
  'Problems that affect only some functions. `replica`: the replica is unreachable, so the primary answers reads instead. `queue`: Redis is full or may evict jobs. `clock`: the clock differs from the database clock by more than a minute, so scheduled jobs are paused. `sign-in`: the provider in `server.oidc` cannot be used.',
);

export const operationsEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/livez',
    tag: 'operations',
    summary: 'Check that the process is alive. The check does not cover dependencies.',
    scope: null,
    pipelines: 'none',
    body: null,
    responses: { '200': { description: 'The process is alive.', body: z.object({ status: z.literal('ok') }) } },
  },
  {
    method: 'get',
    path: '/readyz',
    tag: 'operations',
    summary: 'Check whether the daemon is ready, and list the problems that keep it from being ready.',
    scope: null,
    pipelines: 'none',
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
    summary:
      'Prometheus metrics. An API key that is limited to some pipelines gets only the series of these pipelines.',
    scope: null,
    pipelines: 'metrics',
    body: null,
    responses: { '200': { description: 'Metrics in the Prometheus text format.', body: null } },
  },
];

export type Unready = z.infer<typeof named>[number];

export interface Readiness {
  /** Problems that make the daemon not ready. */
  readonly notReady: readonly Unready[];
  /** Problems that affect only some of the daemon's functions, so the daemon remains ready. */
  readonly degraded: readonly Unready[];
}

export interface Operations {
  readonly metrics: { readonly contentType: string; scrape(): Promise<readonly Buffer[]> };
  /** Returns the pipelines that a request's API key is limited to; null for a request that may read everything. */
  readonly limitOf: (request: FastifyRequest) => Promise<readonly string[] | null>;
  readonly readiness: () => Promise<Readiness>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Cached result of `routeOf`. */
    route?: string;
  }
}

/**
 * Returns the route's path, or an empty string if no route matches. The path is cached, because Fastify allocates an
 * object for each access.
 */
export function routeOf(request: FastifyRequest): string {
  request.route ??= request.routeOptions.url ?? '';
  return request.route;
}

/** Paths that a stopping process still serves. */
export const operationPaths: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics']);

export function addOperations(app: FastifyInstance, { metrics, limitOf, readiness }: Operations): void {
  // `/livez` only checks that the event loop of this process is running. Dependencies are not checked: a database
  // outage must not restart every daemon.
  app.get('/livez', () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const { notReady, degraded } = await readiness();
    const ready = notReady.length === 0;
    return reply.code(ready ? 200 : 503).send({ ready, not_ready: notReady, degraded });
  });

  app.get('/metrics', async (request, reply) => {
    const pipelines = await limitOf(request);
    const all = await metrics.scrape();
    const parts = pipelines === null ? all : await limitMetrics(all, pipelines);
    return reply
      .header('content-type', metrics.contentType)
      .header(
        'content-length',
        parts.reduce((bytes, part) => bytes + part.length, 0),
      )
      .send(Readable.from(chunksOf(parts)));
  });
}

/** Maximum number of bytes per write; a write of ten megabytes would block other requests. */
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
