/** `/v1/pipelines` and `/v1/checks`: how things stand. */
import type { FastifyInstance } from 'fastify';
import { sliceAt, toPage } from '../contracts/http/paging.ts';
import {
  checkListQuery,
  pipelineListQuery,
  pipelineParams,
  transitionListQuery,
} from '../contracts/http/pipeline-status.ts';
import type { CheckState } from '../pipeline/checks/check-states.ts';
import type { PipelineStatus } from '../pipeline/publish/pipeline-status.ts';
import type { DetailedStatus } from '../pipeline/publish/read-status.ts';
import type { CheckHistory } from '../ports/check-history.ts';
import type { Clock } from '../ports/clock.ts';
import { type AuthenticationSettings, requireScope } from './authentication.ts';
import { parseRequest } from './parse-request.ts';
import { checkStateJson, statusJson, transitionJson } from './status-json.ts';

export interface PipelinesDeps {
  readonly authentication: AuthenticationSettings;
  readonly clock: Clock;
  /** @throws RecalldError pipeline_unknown */
  assertPipeline(name: string): void;
  readStatuses(): Promise<readonly PipelineStatus[]>;
  /** @throws RecalldError pipeline_unknown */
  readStatus(pipeline: string): Promise<DetailedStatus>;
  readCheckStates(): Promise<readonly CheckState[]>;
  readonly history: Pick<CheckHistory, 'transitions'>;
}

export function addPipelines(app: FastifyInstance, deps: PipelinesDeps): void {
  const read = { preHandler: requireScope('read', deps.authentication) };

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

  app.get('/v1/checks', read, async (request) => {
    const { pipeline, verdict, ...page } = parseRequest(request.query, checkListQuery, 'query');
    if (pipeline !== undefined) deps.assertPipeline(pipeline);
    const states = (await deps.readCheckStates()).filter(
      (state) =>
        (pipeline === undefined || state.pipeline === pipeline) &&
        (verdict === undefined || state.verdict === verdict),
    );
    const { items, next_cursor } = sliceAt(states, page);
    const now = deps.clock.now();
    return { items: items.map((state) => checkStateJson(state, now)), next_cursor };
  });

  app.get('/v1/checks/transitions', read, async (request) => {
    const query = parseRequest(request.query, transitionListQuery, 'query');
    const { pipeline, check, since, limit, cursor } = query;
    if (pipeline !== undefined) deps.assertPipeline(pipeline);
    const found = await deps.history.transitions({
      limit,
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(check === undefined ? {} : { check }),
      ...(since === undefined ? {} : { since: new Date(since) }),
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    return toPage(found, limit, transitionJson, ({ id }) => id);
  });
}
