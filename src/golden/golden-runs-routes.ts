/** `/v1/golden-runs`: started, listed, shown, query by query and side by side. */
import type { FastifyInstance } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { worstVerdict } from '../checks/rules/check-result.ts';
import { RecalldError } from '../errors.ts';
import { sliceAt, toPage } from '../http/paging.ts';
import { parseRequest } from '../http/parse-request.ts';
import { parseMetricKey } from '../ir/metric-key.ts';
import type { ChangedQuery } from './rules/listed-queries.ts';
import type { GoldenRun } from './rules/run.ts';
import { type RunQuery, readRunQueries } from './runs/run-queries.ts';
import {
  changedQueryJson,
  comparedRunsParams,
  compareQuery,
  goldenRunListQuery,
  goldenRunParams,
  newGoldenRunSchema,
  runQueriesQuery,
} from './schema/golden-run.ts';
import { goldenQueryJson } from './schema/golden-set.ts';
import { type BaselineJson, metricsJson, type RunSummaryJson } from './schema/run-summary-document.ts';
import type { GoldenRuns } from './sql/golden-runs.ts';
import type { GoldenSets } from './sql/golden-sets.ts';

export interface GoldenRunsDeps {
  readonly authentication: AuthenticationSettings;
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  summarizeRun(run: GoldenRun): Promise<RunSummaryJson>;
  /** @throws RecalldError run_unknown, run_not_completed, runs_not_comparable */
  compareRuns(baselineId: string, candidateId: string, by: string | null): Promise<ComparedRuns>;
  /**
   * Hands a run of the latest version of a set to the workers.
   *
   * @throws RecalldError pipeline_unknown, golden_set_unknown
   */
  startRun(pipeline: string, goldenSet: string): Promise<GoldenRun>;
  /** @throws RecalldError run_not_running */
  cancelRun(id: string): Promise<GoldenRun>;
}

export interface ComparedRuns {
  readonly comparison: BaselineJson;
  /** By which the queries are ordered. */
  readonly measure: string;
  readonly queries: readonly ChangedQuery[];
}

export function addGoldenRuns(app: FastifyInstance, deps: GoldenRunsDeps): void {
  const { authentication, runs } = deps;
  const read = { preParsing: requireScope('read', authentication) };

  app.post(
    '/v1/golden-runs',
    { preParsing: requireScope('admin', authentication) },
    async (request, reply) => {
      const body = parseRequest(request.body, newGoldenRunSchema, 'body');
      const run = await deps.startRun(body.pipeline, body.golden_set);
      return reply
        .code(202)
        .header('location', `/v1/golden-runs/${run.id}`)
        .send({ run_id: run.id, status: run.status });
    },
  );

  app.post(
    '/v1/golden-runs/:id/cancel',
    { preParsing: requireScope('admin', authentication) },
    async (request) => {
      const { id } = parseRequest(request.params, goldenRunParams, 'path');
      const run = await deps.cancelRun((await findRun(runs, id)).id);
      return { run_id: run.id, status: run.status };
    },
  );

  app.get('/v1/golden-runs', read, async (request) => {
    const { pipeline, golden_set, status, limit, cursor } = parseRequest(
      request.query,
      goldenRunListQuery,
      'query',
    );
    const found = await runs.list({
      limit,
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(golden_set === undefined ? {} : { goldenSet: golden_set }),
      ...(status === undefined ? {} : { status }),
      ...(cursor === undefined ? {} : { before: await findRun(runs, cursor) }),
    });
    const shown = await Promise.all(found.map((run) => briefRun(runs, run)));
    return toPage(
      shown,
      limit,
      (run) => run,
      (run) => run.run_id,
    );
  });

  app.get('/v1/golden-runs/:id', read, async (request) => {
    const { id } = parseRequest(request.params, goldenRunParams, 'path');
    return deps.summarizeRun(await findRun(runs, id));
  });

  app.get('/v1/golden-runs/:id/queries', read, async (request) => {
    const { id } = parseRequest(request.params, goldenRunParams, 'path');
    const { outcome, order_by, limit, cursor } = parseRequest(request.query, runQueriesQuery, 'query');
    const from = Number(cursor ?? 0);
    const { page, total } = await readRunQueries(deps, await findRun(runs, id), {
      outcome: outcome ?? null,
      orderBy: order_by === undefined ? null : metricKey(order_by),
      from,
      limit,
    });
    const end = from + limit;
    return { items: page.map(runQueryJson), next_cursor: end < total ? String(end) : null };
  });

  app.get('/v1/golden-runs/:baseline/compare/:candidate', read, async (request) => {
    const { baseline, candidate } = parseRequest(request.params, comparedRunsParams, 'path');
    const { by, ...page } = parseRequest(request.query, compareQuery, 'query');
    const { comparison, measure, queries } = await deps.compareRuns(baseline, candidate, by ?? null);
    const { items, next_cursor } = sliceAt(queries, page);
    return {
      baseline_run_id: baseline,
      candidate_run_id: candidate,
      ...comparison,
      ordered_by: measure,
      queries: items.map(changedQueryJson),
      next_cursor,
    };
  });
}

/** @throws RecalldError run_unknown */
export async function findRun(runs: GoldenRuns, id: string): Promise<GoldenRun> {
  const run = await runs.find(id);
  if (run !== null) return run;
  throw new RecalldError(
    'run_unknown',
    `There is no golden run ${id}; GET /v1/golden-runs lists those that exist.`,
  );
}

async function briefRun(runs: GoldenRuns, run: GoldenRun) {
  const [scores, checks] = await Promise.all([runs.scores(run.id), runs.checks(run.id)]);
  const verdicts = checks.map(({ verdict }) => verdict);
  return {
    run_id: run.id,
    pipeline: run.pipeline,
    golden_set: run.goldenSet,
    golden_set_version: run.goldenSetVersion,
    trigger: run.trigger,
    status: run.status,
    reason: run.reason,
    started_at: run.startedAt.toISOString(),
    finished_at: run.finishedAt?.toISOString() ?? null,
    query_count: run.queriesTotal,
    metrics: metricsJson(scores),
    verdict: run.status === 'completed' ? worstVerdict(verdicts) : 'no_data',
  };
}

function runQueryJson({ query, answer, scores, staleDocuments }: RunQuery) {
  return {
    ...goldenQueryJson(query),
    outcome: answer?.outcome ?? null,
    documents: answer?.documents ?? [],
    latency_ms: answer?.latencyMs ?? null,
    attempts: answer?.attempts ?? 0,
    error_code: answer?.errorCode ?? null,
    error_message: answer?.errorMessage ?? null,
    stale_documents: staleDocuments,
    metrics: scores,
  };
}

/** The schema lets only metrics with a cut-off through. */
function metricKey(text: string) {
  const { measure, k } = parseMetricKey(text);
  return { measure, k: k ?? 10 };
}
