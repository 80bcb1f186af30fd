/** `/v1/checks`: how every check stands, and when it changed. */
import type { FastifyInstance } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import type { Clock } from '../clock.ts';
import { parseRequest } from '../http/fields.ts';
import { sliceAt, toPage } from '../http/paging.ts';
import type { CheckStore } from './check-store.ts';
import type { CheckState } from './rules/check-state.ts';
import { checkListQuery, checkStateJson, transitionJson, transitionListQuery } from './wire.ts';

export interface ChecksDeps {
  readonly authentication: AuthenticationSettings;
  readonly clock: Clock;
  /** @throws RecalldError pipeline_unknown */
  assertPipeline(name: string): void;
  readCheckStates(): Promise<readonly CheckState[]>;
  readonly checkStore: Pick<CheckStore, 'transitions'>;
}

export function addChecks(app: FastifyInstance, deps: ChecksDeps): void {
  const read = { preParsing: requireScope('read', deps.authentication) };

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
    const found = await deps.checkStore.transitions({
      limit,
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(check === undefined ? {} : { check }),
      ...(since === undefined ? {} : { since: new Date(since) }),
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    return toPage(found, limit, transitionJson, ({ id }) => id);
  });
}
