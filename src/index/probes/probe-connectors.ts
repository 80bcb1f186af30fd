/** Probes the store, embedder and index of a pipeline, to detect changes and a loss of recall. */

import type { Embedder } from '../../connectors/embedders/embedder.ts';
import type { StoreDescription, VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import { canaryTexts, embeddingCanary } from '../../density/rules/measurement-change.ts';
import { fingerprintOf } from '../../live/deployments/rules/deployment.ts';
import type { DrawnSample } from '../../live/sql/live-samples.ts';
import { summarize } from '../../math/stats/descriptive.ts';
import { neighbourRecall } from '../../math/vector/nearest-neighbours.ts';
import { steadySizeClass } from '../../math/vector/size-class.ts';
import { gapNow, NoValueError, noValueOf, outcomesOrGap, type ProbedPipeline, valueNow, valueOf } from './probes.ts';

const MEASURE = 'ann_recall';

/**
 * Measures `ann_recall`: the share of the k exact nearest neighbors that the index returns, averaged over random
 * live queries from the last day.
 */
export async function measureAnnRecall(context: Context, pipeline: ProbedPipeline, signal: AbortSignal): Promise<void> {
  const { store, name, annRecall } = pipeline;
  if (store === null || annRecall.queries === 0) return;
  const now = context.clock.now();
  const outcomes = await outcomesOrGap(name, MEASURE, now, async () => {
    const since = new Date(now.getTime() - DAY_MS);
    const drawn = await context.db.live.samples.draw({ pipeline: name, since, limit: annRecall.queries });
    const recalls: number[] = [];
    for (const vector of await queryVectors(drawn, pipeline, signal)) {
      const request = { vector, k: annRecall.k, filter: {}, withContent: false };
      const exact = valueOf(await store.nearest({ ...request, exact: true }, signal));
      const approximate = valueOf(await store.nearest({ ...request, exact: false }, signal));
      const recall = neighbourRecall(approximate.neighbours, exact.neighbours);
      if (recall !== null) recalls.push(recall);
    }
    if (recalls.length === 0) throw new NoValueError('store_empty', 'the store has no vectors');
    const { mean: value, ...bounds } = summarize(recalls, 'recall');
    return [valueNow(name, MEASURE, now, { value, ...bounds, details: { k: annRecall.k } })];
  });
  await context.db.measurements.record(outcomes);
}

/**
 * Returns the vectors that were sent with the queries, and the vectors that the embedder returns for the other queries.
 * If the embedder fails, returns only the sent vectors.
 *
 * @throws NoValueError if there are no vectors
 */
async function queryVectors(
  samples: readonly DrawnSample[],
  { embedder }: ProbedPipeline,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const sent = samples.flatMap(({ embedding }) => (embedding === null ? [] : [embedding]));
  const texts = samples.flatMap(({ embedding, text }) => (embedding === null && text !== null ? [text] : []));
  const answer = embedder === null || texts.length === 0 ? null : await embedder.embed(texts, signal);
  const vectors = answer?.kind === 'vectors' ? [...sent, ...answer.vectors] : sent;
  if (vectors.length > 0) return vectors;
  throw answer?.kind === 'failed'
    ? new NoValueError('embedder_failed', answer.message)
    : new NoValueError('no_vectors', 'no live query from the last day has a vector');
}

/**
 * Measures `embedding_canary_median` and `embedding_canary_min`: the median and minimum cosine between the canary
 * vectors of the first probe and the current ones. Records a deployment if the identity of the embedder changes, or if
 * its vectors change under the same identity. The vectors of the first probe remain the baseline, so the measures do
 * not recover until the original vectors return.
 */
export async function probeEmbedder(
  context: Context,
  pipeline: string,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<void> {
  const now = context.clock.now();
  const answer = await embedder.embed(canaryTexts, signal);
  if (answer.kind === 'failed') {
    const details = { message: answer.message };
    context.logger.warn('embedding the canary texts failed', { pipeline, reason: answer.message });
    await context.db.measurements.record(
      measures.map((measure) => gapNow(pipeline, measure, now, 'embedder_failed', details)),
    );
    return;
  }
  const { identity } = embedder;
  if ((await context.db.index.canaries.find(pipeline, identity)) === null) {
    await context.db.index.canaries.save(pipeline, identity, answer.vectors, now);
  }
  const stored = (await context.db.index.canaries.find(pipeline, identity)) ?? answer.vectors;
  const canary = embeddingCanary(
    stored.map((vector, index) => ({ stored: vector, recomputed: answer.vectors[index] ?? new Float32Array() })),
  );
  const traits = {
    identity,
    dimensions: String(answer.vectors[0]?.length ?? 0),
    canary: canary.verdict === 'changed' ? 'moved' : 'steady',
  };
  const deployment = await context.db.live.deployments.observe({
    pipeline,
    component: 'embedder',
    traits,
    fingerprint: fingerprintOf(traits),
    at: now,
  });
  if (deployment !== null) {
    context.logger.warn('the embedding model has changed', { pipeline, changes: deployment.changes });
  }
  const n = canary.cosines.length;
  const details = { verdict: canary.verdict, latency_ms: answer.latencyMs };
  await context.db.measurements.record([
    valueNow(pipeline, 'embedding_canary_median', now, { value: canary.median, n, details }),
    valueNow(pipeline, 'embedding_canary_min', now, { value: canary.least, n, details }),
  ]);
}

const measures = ['embedding_canary_median', 'embedding_canary_min'] as const;

/** Measures `store_vectors`, and records a deployment if the fingerprint of the store has changed. */
export async function probeStore(
  context: Context,
  pipeline: string,
  store: VectorStore,
  signal: AbortSignal,
): Promise<void> {
  const now = context.clock.now();
  const described = await store.describe(signal);
  if (described.kind !== 'ok') {
    const { reason, message } = noValueOf(described);
    context.logger.warn('the vector store could not be probed', { pipeline, reason: message });
    await context.db.measurements.record([gapNow(pipeline, 'store_vectors', now, reason, { message })]);
    return;
  }
  const { count, isExactCount, dimensions, metric, traits } = described.value;
  const all = {
    ...traits,
    ...(await steadySize(context, pipeline, count, traits)),
    kind: store.kind,
    metric,
    ...(dimensions === null ? {} : { dimensions: String(dimensions) }),
  };
  const deployment = await context.db.live.deployments.observe({
    pipeline,
    component: 'index',
    fingerprint: fingerprintOf(all),
    traits: all,
    at: now,
  });
  if (deployment !== null) {
    context.logger.info('the vector store has changed', { pipeline, changes: deployment.changes });
  }
  const details = { is_exact: isExactCount, latency_ms: described.latencyMs };
  await context.db.measurements.record([valueNow(pipeline, 'store_vectors', now, { value: count, n: 1, details })]);
}

/**
 * Returns the trait `size_class` of the store. Near a class boundary, the previous class still applies. If the store
 * has no size class, returns no trait.
 */
async function steadySize(
  { db }: Context,
  pipeline: string,
  count: number,
  traits: StoreDescription['traits'],
): Promise<StoreDescription['traits']> {
  if (traits['size_class'] === undefined) return {};
  const seen = await db.live.deployments.fingerprints();
  const last = seen.find((one) => one.pipeline === pipeline && one.component === 'index');
  return { size_class: steadySizeClass(count, last?.traits['size_class']) };
}
