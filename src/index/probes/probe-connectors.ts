/** Probes the store, embedder and index of a pipeline, to detect changes and lost recall. */

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
import { gapNow, type ProbedPipeline, valueNow } from './probes.ts';

const MEASURE = 'ann_recall';

/**
 * Measures `ann_recall`: the mean share of the k exact nearest neighbors that the approximate search returns, for
 * random live queries of the last day. The confidence interval accounts for the choice of queries.
 */
export async function measureAnnRecall(context: Context, pipeline: ProbedPipeline, signal: AbortSignal): Promise<void> {
  const { store, name, annRecall: settings } = pipeline;
  if (store === null || settings.queries === 0) return;
  const now = context.clock.now();
  const gap = (reason: string, message: string): Promise<void> =>
    context.db.measurements.record([gapNow(name, MEASURE, now, reason, { message })]);
  const since = new Date(now.getTime() - DAY_MS);
  const drawn = await context.db.live.samples.draw({ pipeline: name, since, limit: settings.queries });
  const { vectors, problem } = await vectorsOf(drawn, pipeline, signal);
  if (vectors.length === 0 && problem !== null) return gap('embedder_failed', problem);
  if (vectors.length === 0) return gap('no_vectors', 'no live query of the last day has a vector');

  const recalls: number[] = [];
  for (const vector of vectors) {
    const outcome = await compareSearches(store, vector, settings.k, signal);
    if (outcome.kind === 'unsupported') return gap('unsupported', outcome.reason);
    if (outcome.kind === 'failed') return gap('store_failed', outcome.message);
    if (outcome.recall !== null) recalls.push(outcome.recall);
  }
  if (recalls.length === 0) return gap('store_empty', 'the store has no vectors');
  const { mean, ciLow, ciHigh, ciMethod, n } = summarize(recalls, 'recall');
  await context.db.measurements.record([
    valueNow(name, MEASURE, now, { value: mean, n, ciLow, ciHigh, ciMethod, details: { k: settings.k } }),
  ]);
}

/**
 * Returns the vectors that were sent with the queries, and vectors from the embedder for the texts of the other
 * queries; if the embedder failed, also the reason.
 */
async function vectorsOf(
  samples: readonly DrawnSample[],
  { embedder }: ProbedPipeline,
  signal: AbortSignal,
): Promise<{ readonly vectors: readonly Float32Array[]; readonly problem: string | null }> {
  const sent = samples.flatMap(({ embedding }) => (embedding === null ? [] : [embedding]));
  const texts = samples.flatMap(({ embedding, text }) => (embedding === null && text !== null ? [text] : []));
  if (embedder === null || texts.length === 0) return { vectors: sent, problem: null };
  const answer = await embedder.embed(texts, signal);
  if (answer.kind === 'failed') return { vectors: sent, problem: answer.message };
  return { vectors: [...sent, ...answer.vectors], problem: null };
}

type Comparison =
  | { readonly kind: 'recall'; readonly recall: number | null }
  | { readonly kind: 'unsupported'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string };

async function compareSearches(
  store: VectorStore,
  vector: Float32Array,
  k: number,
  signal: AbortSignal,
): Promise<Comparison> {
  const request = { vector, k, filter: {}, withContent: false };
  const exact = await store.nearest({ ...request, exact: true }, signal);
  if (exact.kind !== 'ok') return exact;
  const approximate = await store.nearest({ ...request, exact: false }, signal);
  if (approximate.kind !== 'ok') return approximate;
  return {
    kind: 'recall',
    recall: neighbourRecall(approximate.value.neighbours, exact.value.neighbours),
  };
}

/**
 * Measures `embedding_canary_median` and `embedding_canary_min`: the median and minimum cosine between the canary
 * vectors of the first probe and the current ones. Records a deployment if the identity of the embedder changes, or if
 * its vectors change under the same identity. The first vectors stay the baseline, so the measure does not recover by
 * itself.
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
    stored.map((vector, index) => ({
      stored: vector,
      recomputed: answer.vectors[index] ?? new Float32Array(),
    })),
  );
  const traits = {
    identity,
    dimensions: String(answer.vectors[0]?.length ?? 0),
    canary: canary.verdict === 'changed' ? 'moved' : 'steady',
  };
  const observation = {
    pipeline,
    component: 'embedder',
    traits,
    fingerprint: fingerprintOf(traits),
    at: now,
  } as const;
  const deployment = await context.db.live.deployments.observe(observation);
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
    const [reason, message] =
      described.kind === 'failed' ? ['store_failed', described.message] : ['unsupported', described.reason];
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
 * Returns the size class of the store, which remains the previous one while the count is near a class boundary; empty
 * for a store without a size class.
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
