/**
 * Builds baselines from traffic: a provisional baseline as soon as possible, a baseline of grade `page` once there is
 * enough traffic, and a new baseline after a change.
 */

import type { Context } from '../core/context.ts';
import { DAY_MS } from '../core/time.ts';
import { mean } from '../math/stats/descriptive.ts';
import { drawn } from '../math/stats/random.ts';
import { rowOf } from '../math/vector/matrix.ts';
import type { RetainedQuery } from './baselines-table.ts';
import type { CoveragePeriod } from './coverage-reads.ts';
import type { DensityRun } from './plan.ts';
import { type BaselineTraffic, baselineGrade, daysWithTraffic } from './rules/baseline.ts';
import { densityOf } from './rules/query-density.ts';
import { NO_REGION, surpriseOf, tiedRanks } from './rules/query-score.ts';
import { votesOf } from './rules/tail-clusters.ts';
import { lastClosable, NO_TRAFFIC, startOver } from './rules/watch.ts';
import type { DensityState, RebaselineRequest, ReplayingPhase, WatchObservation } from './rules/watch-state.ts';
import { sampleStoreMean } from './search-store.ts';
import { readTraffic, sessionsOf, type Traffic, timeOf } from './traffic.ts';

/** Maximum number of times that the period is doubled to reach the required number of sessions. */
const DOUBLINGS = 2;
/**
 * Maximum number of queries in a baseline. More queries would not improve percentiles, and their vectors would not fit
 * into the memory of a small machine.
 */
const MAX_QUERIES = 20_000;
const SAMPLE = 1_000;
const SEED = 1;
/** Maximum duration of a replay; after this time, the remaining queries are skipped. */
const MAX_REPLAY_MS = DAY_MS;

/**
 * Builds a baseline from the queries measured so far. The first baseline may be provisional; only a baseline of grade
 * `page` replaces it.
 *
 * @returns null if the store did not respond
 */
export async function observeBaselineTraffic(
  run: DensityRun,
  { phase, sinceMs }: DensityState,
  now: Date,
): Promise<WatchObservation | null> {
  const { context, plan } = run;
  const isUpgrade = phase.kind === 'watching';
  const untilMs = lastClosable(plan, now);
  const insufficient = (progress: BaselineTraffic): WatchObservation =>
    isUpgrade ? { kind: 'upgrade_insufficient' } : { kind: 'traffic_insufficient', progress, untilMs };
  const fromMs = await startOfTraffic(run, sinceMs, untilMs);
  if (fromMs === null) return insufficient(NO_TRAFFIC);
  const period = { from: new Date(fromMs), until: new Date(untilMs), scoredSince: timeOf(sinceMs) };
  const tally = await context.db.density.coverage.tally({ pipeline: plan.pipeline, ...period });
  const { first, last } = tally;
  const progress = {
    days: first === null || last === null ? 0 : daysWithTraffic(period, [first, last]),
    sessions: sessionsOf(tally),
  };
  const grade = baselineGrade(progress.days, progress.sessions, plan.needs);
  if (grade !== 'page' && (isUpgrade || grade !== 'provisional')) return insufficient(progress);
  const reason = isUpgrade ? 'enough traffic for pages' : 'enough traffic';
  const built = await buildBaseline(run, period, reason);
  if (built.kind === 'unknown') return null;
  if (built.kind === 'insufficient') return insufficient(built.progress);
  const { baseline, version } = built;
  return { kind: 'baseline_built', baseline, version, reason, closedMs: untilMs, details: {} };
}

/**
 * Returns the start of the baseline period. The period has the configured number of days; if it has too few sessions,
 * its length is doubled, at most twice.
 */
async function startOfTraffic({ context, plan }: DensityRun, sinceMs: number | null, untilMs: number) {
  const { pipeline, needs } = plan;
  let fromMs: number | null = null;
  for (let doubled = 0; doubled <= DOUBLINGS; doubled++) {
    const startMs = Math.max(sinceMs ?? 0, untilMs - needs.days * 2 ** doubled * DAY_MS);
    const span = { from: new Date(startMs), until: new Date(untilMs) };
    const tally = await context.db.density.coverage.tally({ pipeline, ...span, scoredSince: timeOf(sinceMs) });
    if (tally.first === null) continue;
    fromMs = startMs;
    if (sessionsOf(tally) >= needs.sessions) break;
  }
  return fromMs;
}

/**
 * Completes a replay: builds a new baseline, and measures how the change affected the scores of the replayed queries.
 *
 * @returns null while queries remain to be replayed, or if the store does not respond
 */
export async function observeReplay(
  run: DensityRun,
  { startedMs, reason, baselineVersion, fromMs, untilMs }: ReplayingPhase,
  now: Date,
): Promise<WatchObservation | null> {
  const { context, plan } = run;
  const period = { from: new Date(fromMs), until: new Date(untilMs) };
  const within = { pipeline: plan.pipeline, ...period, scoredSince: null };
  const isOver = now.getTime() - startedMs > MAX_REPLAY_MS;
  if (!isOver && (await context.db.density.coverage.tally(within)).open > 0) return null;
  const replayed = { ...period, scoredSince: new Date(startedMs) };
  const built = await buildBaseline(run, replayed, reason);
  if (built.kind === 'unknown') return null;
  if (built.kind === 'insufficient') return { kind: 'replay_insufficient' };
  const { baseline, version } = built;
  const details = await effectOfChange(run, baselineVersion, built);
  const closedMs = Math.ceil(startedMs / plan.windowMs) * plan.windowMs;
  return { kind: 'baseline_built', baseline, version, reason: `after ${reason}`, closedMs, details };
}

/**
 * Computes the density of the retained queries before and after the change, in both cases with the percentiles of the
 * old baseline.
 */
async function effectOfChange(
  { context, plan }: DensityRun,
  version: number,
  { storeMean, traffic }: Extract<BuiltBaseline, { kind: 'built' }>,
): Promise<Readonly<Record<string, unknown>>> {
  const { baselines } = context.db.density;
  const stored = await baselines.find(plan.pipeline, version);
  const { queries } = await baselines.retained(plan.pipeline, version, 'sample');
  const after = new Map(traffic.queries.map(({ id, score }) => [id, score]));
  const pairs = queries.flatMap(({ id, score }) => {
    const now = after.get(id) ?? null;
    return now === null ? [] : [{ before: score, now }];
  });
  if (stored === null || pairs.length === 0) return {};
  // The scores before and after the change are comparable only if both use the mean cosine to the store, or if neither
  // does.
  if ((stored.storeMean.length === 0) !== (storeMean.length === 0)) return {};
  const { scores } = stored.baseline;
  const densityOfScores = (values: readonly number[]): number =>
    densityOf(mean(values.map((score) => surpriseOf(tiedRanks(score, NO_REGION, scores)))));
  return {
    paired_queries: pairs.length,
    density_before: densityOfScores(pairs.map(({ before }) => before)),
    density_after: densityOfScores(pairs.map(({ now }) => now)),
    mean_score_change: mean(pairs.map(({ before, now }) => now - before)),
  };
}

/** `unknown`: the store did not respond. */
type BuiltBaseline = Awaited<ReturnType<typeof buildBaseline>>;

/**
 * Builds a baseline from the queries measured in the period, and stores it unless its grade is insufficient.
 *
 * @param reason why the baseline is built, as shown to users
 */
async function buildBaseline(
  run: DensityRun,
  { scoredSince, ...period }: Omit<CoveragePeriod, 'pipeline'>,
  reason: string,
) {
  const { context, plan, signal } = run;
  const { pipeline, windowMs, needs } = plan;
  const within = { pipeline, ...period, scoredSince };
  const storeMean = await sampleStoreMean(run);
  if (storeMean === null) return { kind: 'unknown' as const };
  const traffic = await readTraffic(context, within, MAX_QUERIES, storeMean, signal);
  const sessions = sessionsOf(traffic.tally);
  if (traffic.queries.length === 0) return tooLittle({ ...NO_TRAFFIC, sessions });
  const settings = { period, windowMs, seed: SEED, pageNeeds: needs };
  const built = await context.compute.run('buildBaseline', { traffic, settings }, signal);
  if ('kind' in built) return tooLittle({ days: built.have, sessions });
  if (built.grade === 'insufficient') return tooLittle({ days: built.days, sessions: built.sessions });
  const { tail, reference, ...baseline } = built;
  const { votes, sessions: votingSessions } = votesOf({ tail, sessions: built.global.sessions }, SEED);
  const tailSessions = votes.length === 0 ? 0 : votingSessions;
  const retain = retainer(traffic);
  const version = await context.db.density.baselines.save(
    { pipeline, createdAt: context.clock.now(), reason, baseline, storeMean, tailSessions },
    {
      tail: votes.flatMap((query) => retain(query, query.surprise)),
      sample: sampleOf(traffic).flatMap((query) =>
        retain(query, surpriseOf(tiedRanks(query.score, NO_REGION, built.scores))),
      ),
      reference: reference.queries.flatMap((query, i) => {
        const counts = [reference.counts[0][i] ?? 0, reference.counts[1][i] ?? 0] as const;
        // Live queries are compared only with the vectors of reference queries, so the chunks are not stored.
        return retain(query, reference.surprises[i] ?? 0).map((one) => ({ ...one, nearest: [], counts }));
      }),
    },
  );
  return { kind: 'built' as const, version, baseline: built, storeMean, traffic };
}

function tooLittle(progress: BaselineTraffic) {
  return { kind: 'insufficient' as const, progress };
}

/** Returns one random query per session, for at most `SAMPLE` sessions. */
function sampleOf({ queries }: Traffic) {
  const chosen = new Map<string, { readonly id: string; readonly session: string; readonly score: number }>();
  for (const { id, row, score, session: name } of drawn(queries, queries.length, SEED)) {
    const session = name ?? `query ${id}`;
    if (row === null || score === null || chosen.has(session) || chosen.size === SAMPLE) continue;
    chosen.set(session, { id, session, score });
  }
  return [...chosen.values()];
}

/**
 * Returns a function that converts a query to its retained form. For a query without a vector or score, the function
 * returns an empty array.
 */
function retainer({ queries, covered, vectors }: Traffic) {
  const places = new Map(queries.map(({ id }, place) => [id, place]));
  return ({ id, session }: Pick<RetainedQuery, 'id' | 'session'>, surprise: number): RetainedQuery[] => {
    const place = places.get(id) ?? -1;
    const [query, about] = [queries[place], covered[place]];
    if (query === undefined || about === undefined || query.row === null || query.score === null) return [];
    const { userHash, nearest } = about;
    // The bytes are copied because database drivers cannot read shared memory.
    const vector = Float32Array.from(rowOf(vectors, query.row));
    return [{ id, userHash, session, score: query.score, surprise, nearest, vector, counts: null }];
  };
}

/** `unwatched`: the pipeline has never been evaluated, so there is no baseline to replace. */
export type RebaselineAnswer = 'requested' | 'unwatched';

/** Discards the baseline and open alerts. The next run of the job builds a new baseline. */
export async function requestRebaseline(
  { db, clock }: Context,
  { pipeline, by, ...request }: { readonly pipeline: string; readonly by: string } & Omit<RebaselineRequest, 'at'>,
): Promise<RebaselineAnswer> {
  for (;;) {
    const stored = await db.density.watch.find(pipeline);
    if (stored === null) return 'unwatched';
    const at = clock.now();
    const { state, events } = startOver(pipeline, stored.state, { ...request, at });
    const { revision } = stored;
    const after = { since: request.since?.toISOString() ?? null };
    const acts = [{ at, by, act: 'rebaseline' as const, pipeline, subject: 'density baseline', before: null, after }];
    const isTaken = await db.density.watch.advance({ pipeline, revision, state, windows: [], events, acts, at });
    // If a job has advanced the state in the meantime, the loop retries with the new state.
    if (isTaken) return 'requested';
  }
}
