/** `/v1/baselines`: which run others are compared with. */
import type { FastifyInstance } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { parseRequest } from '../http/parse-request.ts';
import { baselineParams, newBaselineSchema } from './schema/golden-run.ts';
import type { GoldenBaseline } from './sql/golden-baselines.ts';

export interface BaselinesDeps {
  readonly authentication: AuthenticationSettings;
  /** @throws RecalldError run_unknown, run_not_completed */
  pinBaseline(runId: string, note: string | null): Promise<GoldenBaseline>;
  /** @throws RecalldError baseline_unknown */
  unpinBaseline(pipeline: string, goldenSet: string): Promise<void>;
}

export function addBaselines(app: FastifyInstance, deps: BaselinesDeps): void {
  const options = { preParsing: requireScope('admin', deps.authentication) };

  app.post('/v1/baselines', options, async (request, reply) => {
    const { run_id, note } = parseRequest(request.body, newBaselineSchema, 'body');
    const baseline = await deps.pinBaseline(run_id, note ?? null);
    return reply.code(201).send(baselineJson(baseline));
  });

  app.delete('/v1/baselines/:pipeline/:golden_set', options, async (request) => {
    const { pipeline, golden_set } = parseRequest(request.params, baselineParams, 'path');
    await deps.unpinBaseline(pipeline, golden_set);
    return { pipeline, golden_set };
  });
}

export function baselineJson({ pipeline, goldenSet, runId, note, pinnedAt }: GoldenBaseline) {
  return { pipeline, golden_set: goldenSet, run_id: runId, note, pinned_at: pinnedAt.toISOString() };
}
