/**
 * Starts runs of a pipeline's shadows when a run of the pipeline completes. When a shadow run completes, tests whether
 * the shadow differs from its pipeline.
 */
import type { Context } from '../core/context.ts';
import type { AnsweredPair } from '../golden/golden-statistics.ts';
import { judgedQueries } from '../golden/rules/golden-set.ts';
import { ERRORS_SHARE, failedShare, type GoldenRun } from '../golden/rules/run.ts';
import { createGoldenRun } from '../golden/runs/run-golden-set.ts';
import { answersAsIn, queriesOfRun } from '../golden/runs/stored-runs.ts';
import { type Shadow, scheduleOf, type WatchedPipeline } from '../golden/watched-pipeline.ts';
import { type Asker, startOfUtcDay } from './ask-shadow.ts';
import { comparisonsOf, keyOf } from './context.ts';
import { isTestDue, levelOfTest, MAX_RUNS } from './rules/golden-tests.ts';

/** @throws the abort reason of `signal`, and RecalldError database_unreachable */
export async function followWithShadows(
  context: Context,
  { id }: GoldenRun,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
): Promise<void> {
  const run = await context.db.golden.runs.find(id);
  if (run === null || run.status !== 'completed' || run.purpose !== 'full') return;
  if (pipeline.shadowOf === null) {
    for (const shadow of pipeline.shadows) await startBeside(context, run, pipeline, shadow);
    return;
  }
  const shadowed = context.pipelines.find(({ name }) => name === pipeline.shadowOf);
  const shadow = shadowed?.shadows.find(({ asked }) => asked.name === pipeline.name);
  if (shadowed !== undefined && shadow !== undefined) await testShadow({ ...context, signal }, run, shadowed, shadow);
}

/**
 * Starts at most one shadow run per day (UTC) and set version. Without this limit, a shadow would receive the queries
 * of an hourly set every hour.
 */
async function startBeside(context: Context, run: GoldenRun, pipeline: WatchedPipeline, shadow: Shadow): Promise<void> {
  const { asked, limits, maxCallsPerDay, chunkSeparator } = shadow;
  const { goldenSet, goldenSetVersion: version } = run;
  if (pipeline.golden.every(({ set }) => set !== goldenSet)) return;
  // Does not start a shadow run during an outage of the pipeline, because any shadow would then look better.
  if (failedShare(await context.db.golden.runs.outcomes(run.id)) > ERRORS_SHARE) return;
  const today = startOfUtcDay(context.clock.now());
  let calls = 0;
  for (const { set } of pipeline.golden) calls += await context.db.golden.ticks.requestsSince(asked.name, set, today);
  const requests = await context.db.golden.sets.requests(goldenSet, version, null);
  if (calls + requests > maxCallsPerDay) {
    if (calls === 0)
      context.logger.warn('a golden set has more queries than the shadow may receive per day', {
        pipeline: asked.name,
        golden_set: goldenSet,
        requests,
        max_calls_per_day: maxCallsPerDay,
      });
    return;
  }
  const naming = chunkSeparator === null ? {} : { chunkSeparator };
  // A shadow run with many failures is void, because an outage says nothing about the quality of the shadow's results.
  const settings = { ...run.settings, ...limits, ...naming, onError: 'void' } as const;
  const created = await createGoldenRun(context, asked, { ...scheduleOf(pipeline, goldenSet), settings }, version, {
    trigger: 'schedule',
    scheduledFor: today,
    purpose: 'full',
    cause: `Started for comparison with run ${run.id} of the pipeline ${pipeline.name}.`,
    queryIds: null,
  });
  if (created !== null) await context.hooks.resume(created);
}

/**
 * Tests the shadow if the number of its runs of this golden set version has doubled since the last test. The test pairs
 * each of these runs with the pipeline run that it replays.
 */
async function testShadow(context: Asker, run: GoldenRun, pipeline: WatchedPipeline, shadow: Shadow): Promise<void> {
  const { runs: stored, sets } = context.db.golden;
  const { analyses } = context.db.experiments;
  const { goldenSet, goldenSetVersion: version } = run;
  const key = keyOf(pipeline, shadow);
  const tests = await analyses.tests(key, goldenSet);
  const ofVersion = tests.filter(({ goldenSetVersion }) => goldenSetVersion === version).length;
  const filter = { pipeline: run.pipeline, goldenSet, version, status: 'completed', limit: MAX_RUNS } as const;
  const runs = (await stored.list(filter)).filter(
    ({ fingerprints, answersDeletedAt }) =>
      fingerprints['retriever'] === shadow.fingerprint && answersDeletedAt === null,
  );
  if (!isTestDue(runs.length, ofVersion)) return;
  const pairs: (AnsweredPair & { readonly against: string })[] = [];
  const stale = new Set<string>();
  for (const one of runs) {
    const against = (await stored.comparisons(one.id)).find(({ kind }) => kind === 'baseline')?.against;
    const beside = against === undefined ? null : await stored.find(against);
    if (beside === null || beside.answersDeletedAt !== null) continue;
    for (const { queryId } of await stored.staleLabels(beside.id)) stale.add(queryId);
    const [before, after] = [await answersAsIn(context, one, beside), await answersAsIn(context, one, one)];
    pairs.push({ before, after, relevanceLevel: one.settings.relevanceLevel, against: beside.id });
  }
  const queries = judgedQueries(await queriesOfRun(sets, run)).filter(({ id }) => !stale.has(id));
  const [latest] = pairs;
  if (latest === undefined || queries.length === 0) return;
  const k = Math.max(...run.settings.cutoffs);
  const number = tests.length + 1;
  const alpha = levelOfTest(number, comparisonsOf(pipeline, shadow));
  const ndcg = { measure: 'ndcg', k } as const;
  const settings = { alpha, minEffect: null };
  const { metric, noise } = await context.statistics.comparePairs(queries, pairs, ndcg, settings, context.signal);
  const test = { number, goldenSetVersion: version, runId: run.id, against: latest.against, runs: pairs.length };
  await analyses.saveTest(key, goldenSet, { ...metric, ...test, k, alpha, noise }, context.clock.now());
}
