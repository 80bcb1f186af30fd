/**
 * Searches a store for the nearest chunks, replays baseline queries, estimates the mean direction, and looks up lost
 * chunks.
 */

import { searchEach } from '../connectors/stores/search-each.ts';
import type { Nearest, Neighbour, StoreOutcome, VectorStore } from '../connectors/stores/vector-store.ts';
import { createSharedRate } from '../connectors/throttle/shared-rate.ts';
import type { Context } from '../core/context.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { gapNow, noValueOf, valueNow } from '../index/probes/probes.ts';
import { lengthOf, meanDirection, rowOf } from '../math/vector/matrix.ts';
import { combineCalls } from '../platform/threads/combine-calls.ts';
import type { RetainedQuery } from './baselines-table.ts';
import type { DensityPlan, DensityRun } from './plan.ts';
import { repeatDensity } from './rules/query-density.ts';
import { coverageScore, nearestSimilarity } from './rules/query-score.ts';
import type { LostChunks } from './rules/watch-sentences.ts';

/**
 * Number of distinct chunks stored per search. Only the nearest chunk determines the score; the others show what a
 * query is about.
 */
export const KEPT_CHUNKS = 5;

/** Number of chunks requested in the first search: more than `KEPT_CHUNKS`, because some may be duplicates. */
const FIRST_SEARCH = 4 * KEPT_CHUNKS;
const SECOND_SEARCH = 16 * KEPT_CHUNKS;

/**
 * Searches the store's own index for five distinct chunks, before any reranking or fusion. The first search requests 20
 * chunks; if too many of them are duplicates, a second search requests 80. Two chunks are duplicates if their texts are
 * equal or, without texts, if their similarities are exactly equal.
 *
 * @returns `failed` if the store did not respond; recalld retries later
 */
export async function searchCoverage(search: Search, vector: Float32Array) {
  const length = lengthOf(vector);
  if (length === 0) return notMeasurable('zero_vector');
  if (!Number.isFinite(length)) return notMeasurable('not_finite_vector');
  let distinct: Neighbour[] = [];
  for (const k of [FIRST_SEARCH, SECOND_SEARCH]) {
    const answer = await search(vector, k);
    if (answer.kind === 'unsupported') return notMeasurable('unsupported');
    if (answer.kind === 'failed') {
      if (answer.code === 'dimension_mismatch') return notMeasurable(answer.code);
      return { kind: 'failed' as const, message: answer.message };
    }
    const { neighbours, isShort } = answer.value;
    distinct = distinctChunks(neighbours);
    if (distinct.length >= KEPT_CHUNKS || isShort) break;
  }
  const similarity = nearestSimilarity(distinct);
  if (similarity === null) return notMeasurable('not_a_cosine');
  return {
    kind: 'measured' as const,
    /** Cosine to the nearest chunk; -1 if there is none. */
    similarity,
    reason: distinct.length < KEPT_CHUNKS ? ('short' as const) : null,
    nearest: distinct.slice(0, KEPT_CHUNKS).map((chunk) => [chunk.id, chunk.similarity] as const),
  };
}

type Search = (vector: Float32Array, k: number) => Promise<StoreOutcome<Nearest>>;

const REQUEST = { filter: {}, exact: false, withContent: 'digest' } as const;

/**
 * Returns a search for `searchCoverage`. If the store can search for several vectors with one request, all searches
 * that start while a request is running share the next request.
 */
export function openSearch(store: VectorStore, signal: AbortSignal): Search {
  if (store.nearestOfEach === undefined) return (vector, k) => store.nearest({ ...REQUEST, vector, k }, signal);
  const searches = new Map(
    [FIRST_SEARCH, SECOND_SEARCH].map((k) => [
      k,
      combineCalls((vectors: readonly Float32Array[]) => searchEach(store, vectors, { ...REQUEST, k }, signal)),
    ]),
  );
  return async (vector, k) => searches.get(k)?.(vector) ?? store.nearest({ ...REQUEST, vector, k }, signal);
}

/** Number of stored vectors that are sampled to compute the mean direction, whatever the size of the store. */
const SAMPLED_VECTORS = 2000;
const SAMPLE_SEED = 1;

/**
 * Returns the mean direction of a uniform sample of the store: an empty array if the store is empty or cannot be
 * sampled; null if the store did not respond.
 */
export async function sampleStoreMean({ context, plan, signal }: DensityRun): Promise<Float64Array | null> {
  const { pipeline, store } = plan;
  const answer = await store.sample({ n: SAMPLED_VECTORS, seed: SAMPLE_SEED, withContent: false }, signal);
  if (answer.kind === 'ok') return meanDirection(answer.value.vectors);
  if (answer.kind === 'unsupported') return new Float64Array(0);
  context.logger.warn('sampling the vector store for the density baseline failed', {
    pipeline,
    reason: answer.message,
  });
  return null;
}

/** Drops chunks whose content equals that of a more similar chunk, and returns the other chunks, most similar first. */
function distinctChunks(neighbours: readonly Neighbour[]): Neighbour[] {
  const first = new Map<string, Neighbour>();
  for (const chunk of neighbours.toSorted((a, b) => b.similarity - a.similarity)) {
    const content = chunk.content === null ? `similarity ${chunk.similarity}` : `text ${chunk.content}`;
    if (!first.has(content)) first.set(content, chunk);
  }
  return [...first.values()];
}

function notMeasurable(reason: string) {
  return { kind: 'not_measurable' as const, reason };
}

const MAX_PROBED = 2_000;
const MAX_NAMED = 20;

/**
 * Looks up chunks that baseline queries found.
 *
 * @returns null if there is nothing to look up, or if the store did not respond
 */
export async function findLostChunks(
  { context, plan, signal }: DensityRun,
  queries: readonly Pick<RetainedQuery, 'nearest'>[],
): Promise<LostChunks | null> {
  const { pipeline, store } = plan;
  const ids = [...new Set(queries.flatMap(({ nearest }) => nearest.map(([id]) => id)))].slice(0, MAX_PROBED);
  if (ids.length === 0) return null;
  const answer = await store.existing(ids, signal);
  if (answer.kind !== 'ok') {
    const reason = noValueOf(answer).message;
    context.logger.warn('looking up lost chunks in the vector store failed', { pipeline, reason });
    return null;
  }
  const missing = ids.filter((id) => !answer.value.has(id));
  return { probed: ids.length, missing: missing.length, ids: missing.slice(0, MAX_NAMED) };
}

/** Rate limit for density searches in the store of a pipeline (`density.max_per_second`), shared by all workers. */
export function searchRateLimit(context: Context, { pipeline, maxPerSecond }: DensityPlan) {
  // Pipeline names contain no spaces, so this name cannot equal the name of a retriever's rate limit.
  return createSharedRate(context, `${pipeline} coverage`, () => maxPerSecond);
}

const MEASURE = 'repeat_density';

/** Interval between replay rounds. The rounds of one hour replay about a hundred queries in total. */
const ROUND_MS = 5 * MINUTE_MS;
const PER_ROUND = 9;
/**
 * Tolerance for the interval: if a run starts late and the next run starts on time, less than `ROUND_MS` passes between
 * the two runs.
 */
const LATE_MS = MINUTE_MS / 2;

/**
 * Replays the baseline queries that have waited longest, about a hundred per hour, and measures `repeat_density` from
 * the queries replayed in the last hour. Skips a pipeline that has no baseline or had a round recently. If the store
 * does not respond, records the failure with the measure; the next round retries.
 */
export async function replayBaselineQueries({ context, plan, signal }: DensityRun): Promise<void> {
  const { db, clock, logger } = context;
  const { pipeline } = plan;
  const phase = (await db.density.watch.find(pipeline))?.state.phase;
  if (phase?.kind !== 'watching') return;
  const version = phase.baselineVersion;
  const now = clock.now();
  const anHourAgo = new Date(now.getTime() - HOUR_MS);
  const lastRound = new Date(now.getTime() - ROUND_MS + LATE_MS);
  if ((await db.density.baselines.replayed(pipeline, version, lastRound)).length > 0) return;
  const due = await db.density.baselines.dueForReplay(pipeline, version, anHourAgo, PER_ROUND);
  const turn = searchRateLimit(context, plan);
  const stored = await db.density.baselines.find(pipeline, version);
  if (stored === null) return;
  const { storeMean } = stored;
  const search = openSearch(plan.store, signal);
  const found = await Promise.all(
    due.queries.map(async ({ id }, row) => {
      await turn(signal);
      const vector = rowOf(due.vectors, row);
      const searched = await searchCoverage(search, vector);
      const isMeasured = searched.kind === 'measured';
      const score = isMeasured ? coverageScore(searched.similarity, vector, storeMean) : null;
      return { id, score, failure: searched.kind === 'failed' ? searched.message : null };
    }),
  );
  const message = found.find(({ failure }) => failure !== null)?.failure ?? null;
  if (message !== null) {
    logger.warn('replaying baseline queries failed', { pipeline, reason: message });
    await db.measurements.record([gapNow(pipeline, MEASURE, now, 'store_failed', { message })]);
    return;
  }
  if (found.length === 0) return;
  await db.density.baselines.recordReplays(pipeline, version, found, now);
  const pairs = await db.density.baselines.replayed(pipeline, version, anHourAgo);
  if (pairs.length === 0) return;
  const { density: value, queries: n, dropped, ...bounds } = repeatDensity(pairs, stored.baseline.scores);
  await db.measurements.record([valueNow(pipeline, MEASURE, now, { value, n, ...bounds, details: { dropped } })]);
}
