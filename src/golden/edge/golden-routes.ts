import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { parseMetricKey } from '../../math/ir/metric-key.ts';
import { keyHolder } from '../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import { parseRequest, sliceAt, toPage } from '../../platform/http/fields.ts';
import { listedItems } from '../../platform/http/listed-items.ts';
import { acceptJson, LargeBody, type RequestBodies, SMALL_BYTES } from '../../platform/http/request-bodies.ts';
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
  filled,
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
import { type RunQuery, readRunQueries, summarizeRun, summarizeRunSoFar, verdictOf } from '../runs/run-summary.ts';
import { metricsOf } from '../runs/score-json.ts';
import { compareRunsById, findCompleted, findRun } from '../runs/stored-runs.ts';
import { importGoldenQueries } from '../sets/import-golden-set.ts';
import type { GoldenBaseline } from '../sql/golden-baselines.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import { findPipeline } from '../watched-pipeline.ts';

export function addGoldenRuns(
  app: FastifyInstance,
  contextOf: ContextOf,
  authentication: AuthenticationSettings,
): void {
  const read = { preParsing: requireScope('read', authentication) };

  app.post('/v1/golden-runs', { preParsing: requireScope('admin', authentication) }, async (request, reply) => {
    const body = parseRequest(request.body, newGoldenRunSchema, 'body');
    const run = await startRun(actingFor(contextOf(request), request), body.pipeline, body.golden_set);
    return reply.code(202).header('location', `/v1/golden-runs/${run.id}`).send({ run_id: run.id, status: run.status });
  });

  app.post('/v1/golden-runs/:id/cancel', { preParsing: requireScope('admin', authentication) }, async (request) => {
    const { id } = parseRequest(request.params, goldenRunParams, 'path');
    const context = actingFor(contextOf(request), request);
    const run = await cancelGoldenRun(context, (await findRun(context.db.golden.runs, id)).id);
    return { run_id: run.id, status: run.status };
  });

  app.get('/v1/golden-runs', read, async (request) => {
    const { pipeline, golden_set, status, limit, cursor } = parseRequest(request.query, goldenRunListQuery, 'query');
    const { runs } = contextOf(request).db.golden;
    const found = await runs.list({
      limit,
      pipeline,
      goldenSet: golden_set,
      status,
      before: cursor === undefined ? undefined : await findRun(runs, cursor),
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
    const context = contextOf(request);
    return summarizeAnyRun(context, await findRun(context.db.golden.runs, id));
  });

  app.get('/v1/golden-runs/:id/queries', read, async (request) => {
    const { id } = parseRequest(request.params, goldenRunParams, 'path');
    const { outcome, order_by, limit, cursor } = parseRequest(request.query, runQueriesQuery, 'query');
    const from = Number(cursor ?? 0);
    const context = contextOf(request);
    const run = await findRun(context.db.golden.runs, id);
    const orderBy = order_by === undefined ? null : metricKey(order_by);
    const { page, total } = await readRunQueries(context, run, outcome ?? null, orderBy, from, limit);
    const end = from + limit;
    return { items: page.map(runQueryJson), next_cursor: end < total ? String(end) : null };
  });

  app.get('/v1/golden-runs/:baseline/compare/:candidate', read, async (request) => {
    const { baseline, candidate } = parseRequest(request.params, comparedRunsParams, 'path');
    const { by, ...page } = parseRequest(request.query, compareQuery, 'query');
    const compared = await compareOneAtATime(contextOf(request), baseline, candidate, by ?? null);
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

/** Returns a copy of the context whose database writes name the caller in the audit log. */
function actingFor(context: Context, request: FastifyRequest): Context {
  return { ...context, db: context.dbBy(keyHolder(request)) };
}

async function briefRun(runs: GoldenRuns, run: GoldenRun) {
  const [scores, checks] = await Promise.all([runs.scores(run.id), runs.checks(run.id)]);
  return toWire(goldenRunSchema, {
    ...run,
    runId: run.id,
    queryCount: run.queriesTotal,
    metrics: metricsOf(scores),
    verdict: verdictOf(run, checks),
  });
}

const unanswered = { outcome: null, documents: [], latencyMs: null, attempts: 0, errorCode: null, errorMessage: null };

function runQueryJson({ query, answer, scores, staleDocuments }: RunQuery) {
  return toWire(runQuerySchema, { ...filled(query), ...(answer ?? unanswered), staleDocuments, metrics: scores });
}

/** The query parameter schema accepts only metrics with a cutoff. */
function metricKey(text: string) {
  const { measure, k } = parseMetricKey(text);
  return { measure, k: k ?? 10 };
}

export function addBaselines(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  const options = { preParsing: requireScope('admin', authentication) };

  app.post('/v1/baselines', options, async (request, reply) => {
    const { run_id, note, with_failures } = parseRequest(request.body, newBaselineSchema, 'body');
    const pin = { note: note ?? null, withFailures: with_failures ?? false, by: keyHolder(request) };
    const baseline = await pinBaseline(contextOf(request), run_id, pin);
    return reply.code(201).send(toWire(baselineSchema, baseline));
  });

  app.delete('/v1/baselines/:pipeline/:golden_set', options, async (request) => {
    const { pipeline, golden_set } = parseRequest(request.params, baselineParams, 'path');
    const context = contextOf(request);
    await unpin(context, pipeline, golden_set, keyHolder(request), context.clock.now());
    return { pipeline, golden_set };
  });
}

export function addGoldenSets(
  app: FastifyInstance,
  contextOf: ContextOf,
  authentication: AuthenticationSettings,
  bodies: RequestBodies,
): void {
  const read = { preParsing: requireScope('read', authentication) };

  app.get('/v1/golden-sets', read, async (request) => {
    const page = parseRequest(request.query, goldenSetListQuery, 'query');
    const versions = await contextOf(request).db.golden.sets.list();
    // In the list, the newest version of each set comes first.
    const latest = versions.filter(({ name }, index) => versions[index - 1]?.name !== name);
    const { items, next_cursor } = sliceAt(latest, page);
    return { items: items.map(goldenSetVersionJson), next_cursor };
  });

  app.get('/v1/golden-sets/:name', read, async (request) => {
    const { name } = parseRequest(request.params, goldenSetParams, 'path');
    const { version, ...page } = parseRequest(request.query, goldenSetQuery, 'query');
    const { sets } = contextOf(request).db.golden;
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
    acceptJson(scope, bodies, SMALL_BYTES);
    const options = { preParsing: requireScope('admin', authentication) };
    scope.post('/v1/golden-sets/:name/versions', options, async (request, reply) => {
      const { name } = parseRequest(request.params, goldenSetParams, 'path');
      const context = contextOf(request);
      const { body } = request;
      request.body = undefined;
      const batches =
        body instanceof LargeBody
          ? listedItems(body.pieces, 'queries')
          : [parseRequest(body, newGoldenSetSchema, 'body').queries];
      const { set, created, warnings, summary } = await importGoldenQueries(
        actingFor(context, request).db.golden.sets,
        name,
        batches,
        context.clock.now(),
      );
      const report = { ...goldenSetVersionJson(set), created, warnings, ...importSummaryJson(summary) };
      return reply.code(created ? 201 : 200).send(report);
    });
  });
}

function unknownSet(name: string, version: number | undefined, versions: readonly GoldenSetVersion[]): RecalldError {
  const sentence =
    versions[0] === undefined || version === undefined
      ? `There is no golden set "${name}". GET /v1/golden-sets lists the existing sets.`
      : `The golden set "${name}" has no version ${version}; the latest version is ${versions[0].version}.`;
  return new RecalldError('golden_set_unknown', sentence);
}

/** Signal for work that must continue after the caller disconnects; it never aborts. */
const never = new AbortController().signal;

/** @throws RecalldError run_unknown, run_not_completed, baseline_has_failures */
export async function pinBaseline(
  context: Context,
  runId: string,
  pin: { readonly note: string | null; readonly withFailures: boolean; readonly by: string },
): Promise<GoldenBaseline> {
  const run = await findCompleted(context, runId);
  return (await pinRun(context, run, { ...pin, reruns: null, now: context.clock.now() }, never)).baseline;
}

const summarizeOneAtATime = oneAtATime((context: Context, run: GoldenRun) => summarizeRunSoFar(context, run, never));

const compareOneAtATime = oneAtATime((context: Context, baseline: string, candidate: string, by: string | null) =>
  compareRunsById(context, baseline, candidate, by, 'as_stored', never),
);

export function summarizeAnyRun(context: Context, run: GoldenRun): Promise<RunSummaryJson> {
  return run.status === 'running' ? summarizeOneAtATime(context, run) : summarizeRun(context.db.golden.runs, run);
}

/**
 * Stores a run of the latest version of a set and enqueues it.
 *
 * @throws RecalldError pipeline_unknown, golden_set_unknown, golden_set_empty
 */
export async function startRun(context: Context, name: string, goldenSet: string): Promise<GoldenRun> {
  const run = await startGoldenRun(context, findPipeline(context.pipelines, name), goldenSet);
  try {
    await context.queue.enqueue(runGoldenSetJob.name, { run_id: run.id }, run.id);
  } catch (error) {
    // The run is already stored, so the recovery job enqueues it once the queue is available.
    context.logger.warn('a golden run cannot be enqueued yet: the queue is unavailable', {
      run_id: run.id,
      reason: String(error),
    });
  }
  return run;
}

/** Runs one call at a time: a call takes several hundred milliseconds, and concurrent calls would delay golden runs. */
function oneAtATime<Args extends readonly unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const next = last.catch(() => undefined).then(() => work(...args));
    last = next;
    return next;
  };
}
