/**
 * A run of a pipeline that completed -> runs of its shadows beside it; a run of a shadow that completed -> a test,
 * when one is due.
 */

import type { AnsweredPair } from '../golden/golden-statistics.ts';
import { judgedQueries } from '../golden/rules/golden-set.ts';
import { ERRORS_SHARE, failedShare, type GoldenRun } from '../golden/rules/run.ts';
import { createGoldenRun, type StartGoldenRunDeps } from '../golden/runs/run-golden-set.ts';
import { answersAsIn, type CompareDeps, queriesOfRun } from '../golden/runs/stored-runs.ts';
import type { GoldenTicks } from '../golden/sql/golden-ticks.ts';
import { type Shadow, scheduleOf, type WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { Logger } from '../logger.ts';
import { type Clock, DAY_MS } from '../time.ts';
import { isLookDue, levelOfLook, MAX_RUNS } from './rules/looks.ts';
import type { ShadowKey, ShadowTables } from './shadow-tables.ts';

export interface FollowDeps extends CompareDeps, Pick<StartGoldenRunDeps, 'newRunId'> {
  readonly shadows: Pick<ShadowTables, 'looks' | 'saveLook'>;
  readonly ticks: Pick<GoldenTicks, 'queriesSince'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pipelines: readonly WatchedPipeline[];
  /** Hands a run to the workers. */
  resume(run: GoldenRun): Promise<void>;
}

/** @throws the reason of `signal` when it aborts, and RecalldError database_unreachable */
export async function followWithShadows(
  deps: FollowDeps,
  { id }: GoldenRun,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
): Promise<void> {
  const run = await deps.runs.find(id);
  if (run === null || run.status !== 'completed' || run.purpose !== 'full') return;
  if (pipeline.shadowOf === null) {
    for (const shadow of pipeline.shadows) await startBeside(deps, run, pipeline, shadow);
    return;
  }
  const shadowed = deps.pipelines.find(({ name }) => name === pipeline.shadowOf);
  const shadow = shadowed?.shadows.find(({ asked }) => asked.name === pipeline.name);
  if (shadowed !== undefined && shadow !== undefined) await look(deps, run, shadowed, shadow, signal);
}

/** Once a day (UTC) and version, so that a set which is run every hour costs the shadow no more. */
async function startBeside(
  deps: FollowDeps,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  { asked, limits, maxCallsPerDay, chunkSeparator }: Shadow,
): Promise<void> {
  const { goldenSet, goldenSetVersion: version, queriesTotal } = run;
  if (pipeline.golden.every(({ set }) => set !== goldenSet)) return;
  // An outage of the pipeline would make any shadow look better.
  if (failedShare(await deps.runs.outcomes(run.id)) > ERRORS_SHARE) return;
  const today = startOfUtcDay(deps.clock.now());
  let calls = 0;
  for (const { set } of pipeline.golden) calls += await deps.ticks.queriesSince(asked.name, set, today);
  if (calls + queriesTotal > maxCallsPerDay) {
    if (calls === 0)
      deps.logger.warn('a golden set has more questions than its shadow may be asked in a day', {
        pipeline: asked.name,
        golden_set: goldenSet,
        queries: queriesTotal,
        max_calls_per_day: maxCallsPerDay,
      });
    return;
  }
  const naming = chunkSeparator === null ? {} : { chunkSeparator };
  // A shadow that is down is no evidence against what it would answer.
  const settings = { ...run.settings, ...limits, ...naming, onError: 'void' } as const;
  const id = await createGoldenRun(
    deps,
    asked,
    { ...scheduleOf(pipeline, goldenSet), settings },
    version,
    queriesTotal,
    {
      trigger: 'schedule',
      scheduledFor: today,
      purpose: 'full',
      cause: `It stands beside the run ${run.id} of ${pipeline.name}.`,
      queryIds: null,
    },
  );
  const created = id === null ? null : await deps.runs.find(id);
  if (created !== null) await deps.resume(created);
}

/** Tests by all pairs of runs of this version, when they have doubled since the last test. */
async function look(
  deps: FollowDeps,
  run: GoldenRun,
  { name: pipeline, golden }: WatchedPipeline,
  shadow: Shadow,
  signal: AbortSignal,
): Promise<void> {
  const { goldenSet, goldenSetVersion: version } = run;
  const key: ShadowKey = { pipeline, shadow: shadow.name, fingerprint: shadow.fingerprint };
  const looks = await deps.shadows.looks(key, goldenSet);
  const ofVersion = looks.filter(({ goldenSetVersion }) => goldenSetVersion === version).length;
  const filter = { pipeline: run.pipeline, goldenSet, version, status: 'completed', limit: MAX_RUNS } as const;
  const runs = (await deps.runs.list(filter)).filter(
    ({ fingerprints, answersGoneAt }) => fingerprints['retriever'] === shadow.fingerprint && answersGoneAt === null,
  );
  if (!isLookDue(runs.length, ofVersion)) return;
  const pairs: (AnsweredPair & { readonly against: string })[] = [];
  const stale = new Set<string>();
  for (const one of runs) {
    const against = (await deps.runs.comparisons(one.id)).find(({ kind }) => kind === 'baseline')?.against;
    const beside = against === undefined ? null : await deps.runs.find(against);
    if (beside === null || beside.answersGoneAt !== null) continue;
    for (const { queryId } of await deps.runs.staleLabels(beside.id)) stale.add(queryId);
    const [before, after] = [await answersAsIn(deps, one, beside), await answersAsIn(deps, one, one)];
    pairs.push({ before, after, relevanceLevel: one.settings.relevanceLevel, against: beside.id });
  }
  const queries = judgedQueries(await queriesOfRun(deps.sets, run)).filter(({ id }) => !stale.has(id));
  const [latest] = pairs;
  if (latest === undefined || queries.length === 0) return;
  const k = Math.max(...run.settings.cutoffs);
  const alpha = levelOfLook(looks.length + 1, verdictsOn({ golden }, shadow));
  const settings = { alpha, minEffect: null };
  const { metric, noise } = await deps.statistics.comparePairs(
    queries,
    pairs,
    { measure: 'ndcg', k },
    settings,
    signal,
  );
  await deps.shadows.saveLook(key, goldenSet, {
    ...metric,
    look: looks.length + 1,
    goldenSetVersion: version,
    runId: run.id,
    against: latest.against,
    runs: pairs.length,
    k,
    alpha,
    noise,
    lookedAt: deps.clock.now(),
  });
}

/** Those that share the chance of a false call: of each golden set, and of judged live queries. */
export function verdictsOn({ golden }: Pick<WatchedPipeline, 'golden'>, { judgedDepth }: Shadow): number {
  return golden.length + (judgedDepth === null ? 0 : 1);
}

export function startOfUtcDay(now: Date): Date {
  return new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS);
}
