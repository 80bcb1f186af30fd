/** `/v1/golden-sets`, `/v1/golden-runs` and `/v1/baselines`, and what they are made from. */

import type { FastifyInstance } from 'fastify';
import { worstVerdict } from '../../checks/rules/threshold.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { parseMetricKey } from '../../math/ir/metric-key.ts';
import { keyHolder } from '../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import { parseRequest, sliceAt, toPage } from '../../platform/http/fields.ts';
import { listedItems } from '../../platform/http/listed-items.ts';
import { acceptLargeJson, LargeBody, type RequestBodies } from '../../platform/http/request-bodies.ts';
import { toWire } from '../../platform/http/wire.ts';
import {
  baselineParams,
  baselineSchema,
  changedQueries,
  comparedRunsParams,
  compareQuery,
  goldenRunListQuery,
  goldenRunParams,
  goldenRunSchema,
  newBaselineSchema,
  newGoldenRunSchema,
  runQueriesQuery,
  runQuerySchema,
} from '../endpoints.ts';
import { runGoldenSetJob } from '../golden-jobs.ts';
import {
  goldenQueryJson,
  goldenSetListQuery,
  goldenSetParams,
  goldenSetQuery,
  goldenSetVersionJson,
  importSummaryJson,
  newGoldenSetSchema,
} from '../golden-set-schema.ts';
import type { GoldenSetVersion } from '../rules/golden-set.ts';
import type { GoldenRun } from '../rules/run.ts';
import type { RunSummaryJson } from '../run-summary-schema.ts';
import { comparedJson } from '../runs/comparison-json.ts';
import { cancelGoldenRun } from '../runs/end-golden-run.ts';
import { pinRun, unpin } from '../runs/pin-baseline.ts';
import { startGoldenRun } from '../runs/run-golden-set.ts';
import { type RunQuery, readRunQueries, summarizeRun, summarizeRunSoFar } from '../runs/run-summary.ts';
import { metricsOf } from '../runs/score-json.ts';
import { compareRunsById, findCompleted, type RunsCompared } from '../runs/stored-runs.ts';
import { type ImportReport, importGoldenQueries } from '../sets/import-golden-set.ts';
import type { GoldenBaseline } from '../sql/golden-baselines.ts';
import { type GoldenRuns } from '../sql/golden-runs.ts';
import { type GoldenSets } from '../sql/golden-sets.ts';
import { findPipeline, scheduleOf } from '../watched-pipeline.ts';

export interface GoldenRunsDeps {
  readonly context: Context;
  readonly authentication: AuthenticationSettings;
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  summarizeRun(run: GoldenRun): Promise<RunSummaryJson>;
  /** @throws RecalldError run_unknown, run_not_completed, runs_not_comparable */
  compareRuns(baselineId: string, candidateId: string, by: string | null): Promise<RunsCompared>;
  /**
   * Hands a run of the latest version of a set to the workers.
   *
   * @throws RecalldError pipeline_unknown, golden_set_unknown
   */
  startRun(pipeline: string, goldenSet: string, by: string): Promise<GoldenRun>;
  /** @throws RecalldError run_not_running */
  cancelRun(id: string, by: string): Promise<GoldenRun>;
}

export function addGoldenRuns(app: FastifyInstance, deps: GoldenRunsDeps): void {
  const { authentication, runs } = deps;
  const read = { preParsing: requireScope('read', authentication) };

  app.post('/v1/golden-runs', { preParsing: requireScope('admin', authentication) }, async (request, reply) => {
    const body = parseRequest(request.body, newGoldenRunSchema, 'body');
    const run = await deps.startRun(body.pipeline, body.golden_set, keyHolder(request));
    return reply.code(202).header('location', `/v1/golden-runs/${run.id}`).send({ run_id: run.id, status: run.status });
  });

  app.post('/v1/golden-runs/:id/cancel', { preParsing: requireScope('admin', authentication) }, async (request) => {
    const { id } = parseRequest(request.params, goldenRunParams, 'path');
    const run = await deps.cancelRun((await findRun(runs, id)).id, keyHolder(request));
    return { run_id: run.id, status: run.status };
  });

  app.get('/v1/golden-runs', read, async (request) => {
    const { pipeline, golden_set, status, limit, cursor } = parseRequest(request.query, goldenRunListQuery, 'query');
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
    const { page, total } = await readRunQueries(deps.context, await findRun(runs, id), {
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
    const compared = await deps.compareRuns(baseline, candidate, by ?? null);
    const { items, next_cursor } = sliceAt(compared.queries, page);
    return {
      baseline_run_id: baseline,
      candidate_run_id: candidate,
      ...comparedJson(compared),
      ordered_by: compared.measure,
      queries: changedQueries(items),
      next_cursor,
    };
  });
}

/** @throws RecalldError run_unknown */
export async function findRun(runs: GoldenRuns, id: string): Promise<GoldenRun> {
  const run = await runs.find(id);
  if (run !== null) return run;
  throw new RecalldError('run_unknown', `There is no golden run ${id}; GET /v1/golden-runs lists those that exist.`);
}

async function briefRun(runs: GoldenRuns, run: GoldenRun) {
  const [scores, checks] = await Promise.all([runs.scores(run.id), runs.checks(run.id)]);
  const verdicts = checks.map(({ verdict }) => verdict);
  return toWire(goldenRunSchema, {
    ...run,
    runId: run.id,
    queryCount: run.queriesTotal,
    metrics: metricsOf(scores),
    verdict: run.status === 'completed' ? worstVerdict(verdicts) : 'no_data',
  });
}

const unanswered = { outcome: null, documents: [], latencyMs: null, attempts: 0, errorCode: null, errorMessage: null };

function runQueryJson({ query, answer, scores, staleDocuments }: RunQuery) {
  const { forbidden = [], noAnswer = false } = query;
  return toWire(runQuerySchema, {
    ...query,
    forbidden,
    noAnswer,
    ...(answer ?? unanswered),
    staleDocuments,
    metrics: scores,
  });
}

/** The schema lets only metrics with a cut-off through. */
function metricKey(text: string) {
  const { measure, k } = parseMetricKey(text);
  return { measure, k: k ?? 10 };
}

/** `/v1/baselines`: which run others are compared with. */
export interface BaselinesDeps {
  readonly authentication: AuthenticationSettings;
  /** @throws RecalldError run_unknown, run_not_completed, baseline_doubtful */
  pinBaseline(runId: string, note: string | null, withFailures: boolean, by: string): Promise<GoldenBaseline>;
  /** @throws RecalldError baseline_unknown */
  unpinBaseline(pipeline: string, goldenSet: string, by: string): Promise<void>;
}

export function addBaselines(app: FastifyInstance, deps: BaselinesDeps): void {
  const options = { preParsing: requireScope('admin', deps.authentication) };

  app.post('/v1/baselines', options, async (request, reply) => {
    const { run_id, note, with_failures } = parseRequest(request.body, newBaselineSchema, 'body');
    const baseline = await deps.pinBaseline(run_id, note ?? null, with_failures ?? false, keyHolder(request));
    return reply.code(201).send(toWire(baselineSchema, baseline));
  });

  app.delete('/v1/baselines/:pipeline/:golden_set', options, async (request) => {
    const { pipeline, golden_set } = parseRequest(request.params, baselineParams, 'path');
    await deps.unpinBaseline(pipeline, golden_set, keyHolder(request));
    return { pipeline, golden_set };
  });
}

/** `/v1/golden-sets`. */
export interface GoldenSetsDeps {
  readonly authentication: AuthenticationSettings;
  readonly sets: GoldenSets;
  /**
   * Makes a new version of values as in the lines of a JSONL file, unless the latest one has the same content.
   *
   * @throws RecalldError file_malformed, golden_set_empty; nothing is stored then
   */
  importQueries(
    name: string,
    batches: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>,
    by: string,
  ): Promise<ImportReport>;
}

export function addGoldenSets(app: FastifyInstance, deps: GoldenSetsDeps, bodies: RequestBodies): void {
  const { authentication, sets } = deps;
  const read = { preParsing: requireScope('read', authentication) };

  app.get('/v1/golden-sets', read, async (request) => {
    const page = parseRequest(request.query, goldenSetListQuery, 'query');
    const versions = await sets.list();
    // The newest of each name comes first.
    const latest = versions.filter(({ name }, index) => versions[index - 1]?.name !== name);
    const { items, next_cursor } = sliceAt(latest, page);
    return { items: items.map(goldenSetVersionJson), next_cursor };
  });

  app.get('/v1/golden-sets/:name', read, async (request) => {
    const { name } = parseRequest(request.params, goldenSetParams, 'path');
    const { version, ...page } = parseRequest(request.query, goldenSetQuery, 'query');
    const versions = (await sets.list()).filter((one) => one.name === name);
    const set = version === undefined ? versions[0] : versions.find((one) => one.version === version);
    if (set === undefined) throw unknownSet(name, version, versions);
    const { items, next_cursor } = sliceAt(await sets.queries(name, set.version), page);
    return {
      ...goldenSetVersionJson(set),
      versions: versions.map(goldenSetVersionJson),
      queries: items.map(goldenQueryJson),
      next_cursor,
    };
  });

  void app.register(async (scope) => {
    acceptLargeJson(scope, bodies);
    const options = { preParsing: requireScope('admin', authentication) };
    scope.post('/v1/golden-sets/:name/versions', options, async (request, reply) => {
      const { name } = parseRequest(request.params, goldenSetParams, 'path');
      const { body } = request;
      request.body = undefined;
      const batches =
        body instanceof LargeBody
          ? listedItems(body.pieces, 'queries')
          : [parseRequest(body, newGoldenSetSchema, 'body').queries];
      const { set, created, warnings, summary } = await deps.importQueries(name, batches, keyHolder(request));
      const report = { ...goldenSetVersionJson(set), created, warnings, ...importSummaryJson(summary) };
      return reply.code(created ? 201 : 200).send(report);
    });
  });
}

function unknownSet(name: string, version: number | undefined, versions: readonly GoldenSetVersion[]): RecalldError {
  const sentence =
    versions[0] === undefined || version === undefined
      ? `There is no golden set "${name}"; GET /v1/golden-sets lists those that exist.`
      : `The golden set "${name}" has no version ${version}; its latest is ${versions[0].version}.`;
  return new RecalldError('golden_set_unknown', sentence);
}

/** Of work that goes on although its caller has gone. */
const never = new AbortController().signal;

type GoldenApi = Omit<GoldenSetsDeps & GoldenRunsDeps & BaselinesDeps, 'context' | 'authentication'>;

export function createGoldenApi(context: Context): GoldenApi {
  const { db, dbBy, clock } = context;
  const { sets, runs } = db.golden;
  const summarizeSoFar = oneAtATime((run: GoldenRun) => summarizeRunSoFar(context, run, never));
  return {
    sets,
    runs,
    importQueries: (name, batches, by) => importGoldenQueries(dbBy(by).golden.sets, name, batches, clock.now()),
    summarizeRun: (run) => (run.status === 'running' ? summarizeSoFar(run) : summarizeRun(runs, run)),
    compareRuns: oneAtATime((baseline: string, candidate: string, by: string | null) =>
      compareRunsById(context, baseline, candidate, by, 'as_stored', never),
    ),
    startRun: (pipeline, goldenSet, by) => startRun({ ...context, db: dbBy(by) }, pipeline, goldenSet),
    cancelRun: (id, by) => cancelGoldenRun({ ...context, db: dbBy(by) }, id),
    pinBaseline: async (runId, note, withFailures, by) => {
      const run = await findCompleted(context, runId);
      const pin = { note, reruns: null, by, now: clock.now(), withFailures };
      return (await pinRun(context, run, pin, never)).baseline;
    },
    unpinBaseline: (pipeline, goldenSet, by) => unpin(context, pipeline, goldenSet, by, clock.now()),
  };
}

/**
 * Stores a run of the latest version of a set and hands it to the workers.
 *
 * @throws RecalldError pipeline_unknown, golden_set_unknown
 */
export async function startRun(context: Context, name: string, goldenSet: string): Promise<GoldenRun> {
  const pipeline = findPipeline(context.pipelines, name);
  const schedule = scheduleOf(pipeline, goldenSet);
  const run = await context.db.golden.runs.find(await startGoldenRun(context, pipeline, schedule));
  if (run === null) throw new Error('a run by hand is gone from the database');
  try {
    await context.queue.enqueue(runGoldenSetJob.name, { run_id: run.id }, run.id);
  } catch (error) {
    // The run is stored, and the job that looks for runs that nobody holds takes it when the queue is back.
    context.logger.warn('a golden run waits for the queue', { run_id: run.id, reason: String(error) });
  }
  return run;
}

/** A comparison computes for some tenths of a second; many at once would leave golden runs no room in the queue. */
function oneAtATime<Args extends readonly unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const next = last.then(
      () => work(...args),
      () => work(...args),
    );
    last = next;
    return next;
  };
}
