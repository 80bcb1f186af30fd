/**
 * Jobs that probe stores and embedders and take snapshots of stores: clusters, centroid and duplicates, compared with
 * live queries.
 */

import type { SampledVectors, VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import { type StoreTraffic, storeShift } from '../../density/rules/store-snapshot.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import { type Matrix, matrixOf } from '../../math/vector/matrix.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { forEachPipeline } from '../../platform/queue/for-each-pipeline.ts';
import { defineCronJob, type JobDefinition } from '../../platform/queue/job-queue.ts';
import { measureAnnRecall, probeEmbedder, probeStore } from './probe-connectors.ts';
import { gapNow, type ProbedPipeline, valueNow } from './probes.ts';

/** Sample size, independent of the size of the store. */
const SAMPLED_VECTORS = 2000;
const SAMPLED_QUERIES = 1000;
/** Number of sampled vectors for which the store is searched for duplicates. */
const DUPLICATE_CHECKS = 100;
const DUPLICATE_SIMILARITY = 1 - 1e-6;
/**
 * Number of neighbors requested in a search for duplicates. If only two were requested, an approximate search might
 * miss one of two equal vectors.
 */
const DUPLICATE_NEIGHBOURS = 10;

/**
 * Measures `store_sample_vectors`; `store_centroid_shift` and `store_length_ratio`, relative to the previous snapshot;
 * `store_duplicates_ratio`; and, with live queries, `store_query_divergence`, `store_queries_apart_ratio` and
 * `store_chunks_unqueried_ratio`.
 */
export async function snapshotStore(
  context: Context,
  pipeline: string,
  store: VectorStore,
  signal: AbortSignal,
): Promise<void> {
  const now = context.clock.now();
  const gap = (reason: string, message: string): Promise<void> =>
    context.db.measurements.record([gapNow(pipeline, 'store_sample_vectors', now, reason, { message })]);
  // Uses a new seed each time, so that the samples differ.
  const seed = Math.floor(now.getTime() / 1000);
  const sampled = await store.sample({ n: SAMPLED_VECTORS, seed, withContent: false }, signal);
  if (sampled.kind === 'unsupported') return gap('unsupported', sampled.reason);
  if (sampled.kind === 'failed') return gap('store_failed', sampled.message);
  const { value: sample } = sampled;
  const { vectors: queries, weights } = await drawQueries(context, pipeline, sample.vectors.columns, now);
  const described = await context.compute.describeStore(sample.vectors, { queries, weights }, signal);
  if (described === null) return gap('store_empty', 'the store has no vectors with a direction');
  const { snapshot, traffic } = described;
  const before = await context.db.index.snapshots.latest(pipeline);
  const shift = before === null ? null : storeShift(before, snapshot);
  const duplicates = await countDuplicates(store, sample, signal);
  await context.db.index.snapshots.save({
    ...snapshot,
    pipeline,
    takenAt: now,
    vectors: snapshot.rows,
    queryShares: traffic === null ? null : queryShares(traffic),
    medoids: snapshot.medoids.map((row) => (row === null ? null : (sample.ids[row] ?? null))),
  });
  const value = (measure: string, of: number, n: number): MeasurementOutcome =>
    valueNow(pipeline, measure, now, { value: of, n });
  await context.db.measurements.record([
    value('store_sample_vectors', snapshot.rows, snapshot.rows),
    ...(shift === null
      ? []
      : [
          value('store_centroid_shift', shift.centroidCosineDistance, snapshot.rows),
          value('store_length_ratio', shift.lengthRatio, snapshot.rows),
        ]),
    ...(traffic === null
      ? []
      : [
          value('store_query_divergence', traffic.divergenceBits, queries.rows),
          value('store_queries_apart_ratio', traffic.queriesApart, queries.rows),
          value('store_chunks_unqueried_ratio', traffic.chunksUnqueried, snapshot.rows),
        ]),
    ...(duplicates === null ? [] : [duplicatesMeasured(pipeline, now, duplicates)]),
  ]);
}

/** Returns vectors of random live queries of the last day that have the dimension of the store, with their weights. */
async function drawQueries(
  { db }: Context,
  pipeline: string,
  dimensions: number,
  now: Date,
): Promise<{ readonly vectors: Matrix; readonly weights: Float64Array }> {
  const since = new Date(now.getTime() - DAY_MS);
  const drawn = await db.live.samples.draw({ pipeline, since, limit: SAMPLED_QUERIES });
  const usable = drawn.flatMap(({ embedding, probability }) =>
    embedding?.length === dimensions ? [{ embedding, weight: 1 / probability }] : [],
  );
  return {
    vectors: matrixOf(usable.map(({ embedding }) => embedding)),
    weights: Float64Array.from(usable, ({ weight }) => weight),
  };
}

function queryShares({ clusters }: StoreTraffic): Float64Array {
  const shares = new Float64Array(clusters.length);
  for (const { cluster, queryShare } of clusters) shares[cluster] = queryShare;
  return shares;
}

/**
 * Counts the sampled vectors that have a duplicate in the store, or returns why the count is unknown; null if the
 * sample is empty.
 */
async function countDuplicates(
  store: VectorStore,
  { ids, vectors }: SampledVectors,
  signal: AbortSignal,
): Promise<Duplicates | null> {
  const tried = Math.min(ids.length, DUPLICATE_CHECKS);
  let duplicates = 0;
  for (let row = 0; row < tried; row += 1) {
    const vector = vectors.data.slice(row * vectors.columns, (row + 1) * vectors.columns);
    if (vector.every((number) => number === 0)) continue;
    const request = { vector, k: DUPLICATE_NEIGHBOURS, filter: {}, exact: false, withContent: false };
    const found = await store.nearest(request, signal);
    if (found.kind === 'unsupported') return { reason: 'unsupported', message: found.reason };
    if (found.kind === 'failed') return { reason: 'store_failed', message: found.message };
    if (found.value.neighbours.filter(({ similarity }) => similarity >= DUPLICATE_SIMILARITY).length > 1)
      duplicates += 1;
  }
  return tried === 0 ? null : { tried, duplicates };
}

type Duplicates =
  | { readonly tried: number; readonly duplicates: number }
  | { readonly reason: 'unsupported' | 'store_failed'; readonly message: string };

function duplicatesMeasured(pipeline: string, now: Date, counted: Duplicates): MeasurementOutcome {
  const measure = 'store_duplicates_ratio';
  if ('reason' in counted) return gapNow(pipeline, measure, now, counted.reason, { message: counted.message });
  const { tried, duplicates } = counted;
  const { low, high } = wilsonInterval(duplicates / tried, tried, 0.95);
  return valueNow(pipeline, measure, now, {
    value: duplicates / tried,
    n: tried,
    ciLow: low,
    ciHigh: high,
    ciMethod: 'wilson',
  });
}

const withStore = (pipelines: readonly ProbedPipeline[]) =>
  pipelines.flatMap(({ name, store }) => (store === null ? [] : [{ name, store }]));
const withEmbedder = (pipelines: readonly ProbedPipeline[]) =>
  pipelines.flatMap(({ name, embedder }) => (embedder === null ? [] : [{ name, embedder }]));

const probeStoresJob = defineCronJob({
  name: 'probe-stores',
  does: 'Counts the vectors in each store, and records a deployment if the fingerprint of a store has changed.',
  cron: '*/5 * * * *',
  timeoutMs: 240_000,
  handle: (context: Context, signal) =>
    forEachPipeline(withStore(context.pipelines), signal, ({ name, store }) =>
      probeStore(context, name, store, signal),
    ),
});

const probeEmbeddersJob = defineCronJob({
  name: 'probe-embedders',
  does: 'Embeds the canary texts again, and records a deployment if their vectors have changed.',
  cron: '4-59/10 * * * *',
  timeoutMs: 540_000,
  handle: (context: Context, signal) =>
    forEachPipeline(withEmbedder(context.pipelines), signal, ({ name, embedder }) =>
      probeEmbedder(context, name, embedder, signal),
    ),
});

const measureAnnRecallJob = defineCronJob({
  name: 'measure-ann-recall',
  does: 'Compares the index of each store with an exact search, using live queries.',
  cron: '37 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: (context: Context, signal) =>
    forEachPipeline(context.pipelines, signal, (pipeline) => measureAnnRecall(context, pipeline, signal)),
});

const snapshotStoresJob = defineCronJob({
  name: 'snapshot-stores',
  does: 'Takes a uniform sample of each store and compares its content with live queries.',
  cron: '11 */6 * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: (context: Context, signal) =>
    forEachPipeline(withStore(context.pipelines), signal, ({ name, store }) =>
      snapshotStore(context, name, store, signal),
    ),
});

export const probeJobs: readonly JobDefinition<Context>[] = [
  probeStoresJob,
  probeEmbeddersJob,
  measureAnnRecallJob,
  snapshotStoresJob,
];
