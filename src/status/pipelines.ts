/** `/v1/pipelines`: how things stand. */
import type { FastifyInstance } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { parseRequest } from '../http/fields.ts';
import { sliceAt } from '../http/paging.ts';
import type { PipelineStatus } from './pipeline-status.ts';
import { pipelineListQuery, pipelineParams } from './pipeline-status-schema.ts';
import type { DetailedStatus } from './read-status.ts';
import { statusJson } from './status-json.ts';

export interface PipelinesDeps {
  readonly authentication: AuthenticationSettings;
  readStatuses(): Promise<readonly PipelineStatus[]>;
  /** @throws RecalldError pipeline_unknown */
  readStatus(pipeline: string): Promise<DetailedStatus>;
}

export function addPipelines(app: FastifyInstance, deps: PipelinesDeps): void {
  const read = { preParsing: requireScope('read', deps.authentication) };

  app.get('/v1/pipelines', read, async (request) => {
    const page = parseRequest(request.query, pipelineListQuery, 'query');
    const { items, next_cursor } = sliceAt(await deps.readStatuses(), page);
    return {
      items: items.map(({ pipeline, state, reasons, golden }) => ({
        pipeline,
        state,
        reasons,
        golden_sets: golden.map(({ goldenSet, cron }) => ({ golden_set: goldenSet, cron })),
      })),
      next_cursor,
    };
  });

  app.get('/v1/pipelines/:pipeline/status', read, async (request) => {
    const { pipeline } = parseRequest(request.params, pipelineParams, 'path');
    return statusJson(await deps.readStatus(pipeline));
  });
}
