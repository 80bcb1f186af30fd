/** `/v1/density`. */
import type { FastifyInstance } from 'fastify';
import { type DensityAnswer, densityQuery, rebaselineSchema } from '../contracts/http/density.ts';
import type { Clock } from '../ports/clock.ts';
import { type AuthenticationSettings, requireScope } from './authentication.ts';
import { parseRequest } from './parse-request.ts';

export interface DensityDeps {
  readonly authentication: AuthenticationSettings;
  readonly clock: Clock;
  describeDensity(request: {
    readonly pipeline: string;
    readonly segment: string;
    readonly from: Date;
    readonly until: Date;
  }): Promise<DensityAnswer>;
  rebaselineDensity(request: {
    readonly pipeline: string;
    readonly reason: string | null;
    readonly since: Date | null;
  }): Promise<'requested' | 'unwatched'>;
  /** @throws RecalldError pipeline_unknown */
  assertPipeline(name: string): void;
}

const WEEK_MS = 7 * 86_400_000;

export function addDensity(app: FastifyInstance, deps: DensityDeps): void {
  const { authentication, clock } = deps;
  app.get('/v1/density', { preHandler: requireScope('read', authentication) }, async (request) => {
    const { pipeline, segment, from, until } = parseRequest(request.query, densityQuery, 'query');
    deps.assertPipeline(pipeline);
    const end = until === undefined ? clock.now() : new Date(until);
    const start = from === undefined ? new Date(end.getTime() - WEEK_MS) : new Date(from);
    return deps.describeDensity({ pipeline, segment, from: start, until: end });
  });

  app.post(
    '/v1/density/rebaseline',
    { preHandler: requireScope('admin', authentication) },
    async (request, reply) => {
      const body = parseRequest(request.body, rebaselineSchema, 'body');
      deps.assertPipeline(body.pipeline);
      const status = await deps.rebaselineDensity({
        pipeline: body.pipeline,
        reason: body.reason ?? null,
        since: body.since === undefined ? null : new Date(body.since),
      });
      return reply.code(202).send({ status });
    },
  );
}
