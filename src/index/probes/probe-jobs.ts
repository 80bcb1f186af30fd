/** Jobs that probe stores and embedders, and compare samples of stores with live queries. */

import type { SampledVectors, VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import { storeShift } from '../../density/rules/store-snapshot.ts';
import { type Matrix, matrixOf, rowOf } from '../../math/vector/matrix.ts';
import type { MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { forEachPipeline } from '../../platform/queue/for-each-pipeline.ts';
import { defineCronJob, type JobDefinition } from '../../platform/queue/job-queue.ts';
import { measureAnnRecall, probeEmbedder, probeStore } from './probe-connectors.ts';
import { measuredShare, NoValueError, outcomesOrGap, type ProbedPipeline, valueNow, valueOf } from './probes.ts';

const SAMPLED_VECTORS = 2000;
const SAMPLED_QUERIES = 1000;
const DUPLICATE_CHECKS = 100;
const DUPLICATE_SIMILARITY = 1 - 1e-6;
/** Number of neighbors to request: with only two, an approximate search might miss one of two equal vectors. */
const DUPLICATE_NEIGHBOURS = 10;

/**
 * Measures `store_sample_vectors` and `store_duplicates_ratio`. Measures `store_centroid_shift` and
 * `store_length_ratio` relative to the previous snapshot. If there are live queries, also measures
 * `store_query_divergence`, `store_queries_apart_ratio` and `store_chunks_unqueried_ratio`.
 */
export async function snapshotStore(
  context: Context,
  pipeline: string,
  store: VectorStore,
  signal: AbortSignal,
): Promise<void> {
  const now = context.clock.now();
  const outcomes = await outcomesOrGap(pipeline, 'store_sample_vectors', now, () =>
    describeStore(context, pipeline, store, now, signal),
  );
  await context.db.measurements.record(outcomes);
}

/** @throws NoValueError */
async function describeStore(
  context: Context,
  pipeline: string,
  store: VectorStore,
  now: Date,
  signal: AbortSignal,
): Promise<readonly MeasurementOutcome[]> {
  // Uses a new seed each time, so that the samples differ.
  const seed = Math.floor(now.getTime() / 1000);
  const sample = valueOf(await store.sample({ n: SAMPLED_VECTORS, seed, withContent: false }, signal));
  const drawn = await drawQueries(context, pipeline, sample.vectors.columns, now);
  const described = await context.compute.run('describeStore', { sample: sample.vectors, ...drawn }, signal);
  if (described === null) throw new NoValueError('store_empty', 'the store is empty or contains only zero vectors');
  const { snapshot, traffic } = described;
  const before = await context.db.index.snapshots.latest(pipeline);
  const shift = before === null ? null : storeShift(before, snapshot);
  const duplicates = await outcomesOrGap(pipeline, DUPLICATES, now, () =>
    measureDuplicates(store, sample, pipeline, now, signal),
  );
  await context.db.index.snapshots.save(pipeline, now, snapshot);
  const value = (measure: string, of: number, n: number): MeasurementOutcome =>
    valueNow(pipeline, measure, now, { value: of, n });
  return [
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
          value('store_query_divergence', traffic.divergenceBits, drawn.queries.rows),
          value('store_queries_apart_ratio', traffic.queriesApart, drawn.queries.rows),
          value('store_chunks_unqueried_ratio', traffic.chunksUnqueried, snapshot.rows),
        ]),
    ...duplicates,
  ];
}

async function drawQueries(
  { db }: Context,
  pipeline: string,
  dimensions: number,
  now: Date,
): Promise<{ readonly queries: Matrix; readonly weights: Float64Array }> {
  const since = new Date(now.getTime() - DAY_MS);
  const drawn = await db.live.samples.draw({ pipeline, since, limit: SAMPLED_QUERIES });
  const usable = drawn.flatMap(({ embedding, probability }) =>
    embedding?.length === dimensions ? [{ embedding, weight: 1 / probability }] : [],
  );
  return {
    queries: matrixOf(usable.map(({ embedding }) => embedding)),
    weights: Float64Array.from(usable, ({ weight }) => weight),
  };
}

const DUPLICATES = 'store_duplicates_ratio';

/** @throws NoValueError */
async function measureDuplicates(
  store: VectorStore,
  { ids, vectors }: SampledVectors,
  pipeline: string,
  now: Date,
  signal: AbortSignal,
): Promise<readonly MeasurementOutcome[]> {
  const n = Math.min(ids.length, DUPLICATE_CHECKS);
  if (n === 0) return [];
  let duplicates = 0;
  for (let row = 0; row < n; row += 1) {
    const vector = rowOf(vectors, row).slice();
    if (vector.every((number) => number === 0)) continue;
    const request = { vector, k: DUPLICATE_NEIGHBOURS, filter: {}, exact: false, withContent: false };
    const { neighbours } = valueOf(await store.nearest(request, signal));
    if (neighbours.filter(({ similarity }) => similarity >= DUPLICATE_SIMILARITY).length > 1) duplicates += 1;
  }
  return [valueNow(pipeline, DUPLICATES, now, measuredShare(duplicates, n))];
}

/** Defines a job that probes the store, or the embedder, of each pipeline that has one. */
function probeJob<Part extends 'store' | 'embedder'>(
  part: Part,
  probe: (
    context: Context,
    pipeline: string,
    connector: NonNullable<ProbedPipeline[Part]>,
    signal: AbortSignal,
  ) => Promise<void>,
  job: Omit<Parameters<typeof defineCronJob<Context>>[0], 'handle'>,
): JobDefinition<Context> {
  return defineCronJob<Context>({
    ...job,
    handle: (context, signal) => {
      const probed = context.pipelines.flatMap(({ name, [part]: connector }) =>
        connector === null ? [] : [{ name, connector }],
      );
      return forEachPipeline(probed, signal, ({ name, connector }) => probe(context, name, connector, signal));
    },
  });
}

export const probeJobs: readonly JobDefinition<Context>[] = [
  probeJob('store', probeStore, {
    name: 'probe-stores',
    does: 'Counts the vectors in each store, and records a deployment if the fingerprint of a store has changed.',
    cron: '*/5 * * * *',
    timeoutMs: 240_000,
  }),
  probeJob('embedder', probeEmbedder, {
    name: 'probe-embedders',
    does: 'Embeds the canary texts again, and records a deployment if their vectors have changed.',
    cron: '4-59/10 * * * *',
    timeoutMs: 540_000,
  }),
  defineCronJob<Context>({
    name: 'measure-ann-recall',
    does: 'Compares the index of each store with an exact search, using live queries.',
    cron: '37 * * * *',
    timeoutMs: 3_000_000,
    retainSeconds: 3600,
    handle: (context, signal) =>
      forEachPipeline(context.pipelines, signal, (pipeline) => measureAnnRecall(context, pipeline, signal)),
  }),
  probeJob('store', snapshotStore, {
    name: 'snapshot-stores',
    does: 'Takes a uniform sample of each store, and compares the sample with live queries.',
    cron: '11 */6 * * *',
    timeoutMs: 3_000_000,
    retainSeconds: 3600,
  }),
];
