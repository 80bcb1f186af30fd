/** How much of what an exact search finds does the index of the store find, for what people ask? */

import type { DrawnSample } from '../live/ports/live-samples.ts';
import { summarize } from '../stats/summary.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import { neighbourRecall } from '../vector/nearest-neighbours.ts';
import { gapNow, type ProbeDeps, type ProbedPipeline, valueNow } from './probes.ts';

const MEASURE = 'ann_recall';
const DAY_MS = 86_400_000;

/**
 * Measures `ann_recall`: the mean share of the k exact nearest neighbours that the approximate search returns, over
 * random live queries of the last day. The bounds are those of a mean over queries.
 */
export async function measureAnnRecall(
  deps: ProbeDeps,
  pipeline: ProbedPipeline,
  signal: AbortSignal,
): Promise<void> {
  const { store, name, annRecall: settings } = pipeline;
  if (store === null || settings.queries === 0) return;
  const now = deps.clock.now();
  const gap = (reason: string, message: string): Promise<void> =>
    deps.measurements.record([gapNow(name, MEASURE, now, reason, { message })]);
  const since = new Date(now.getTime() - DAY_MS);
  const drawn = await deps.samples.draw({ pipeline: name, since, limit: settings.queries });
  const vectors = await vectorsOf(drawn, pipeline, signal);
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
  await deps.measurements.record([
    valueNow(name, MEASURE, now, { value: mean, n, ciLow, ciHigh, ciMethod, details: { k: settings.k } }),
  ]);
}

/** The vectors that came with the queries; where none did, those of the embedder. */
async function vectorsOf(
  samples: readonly DrawnSample[],
  { embedder }: ProbedPipeline,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const sent = samples.flatMap(({ embedding }) => (embedding === null ? [] : [embedding]));
  const texts = samples.flatMap(({ embedding, text }) => (embedding === null && text !== null ? [text] : []));
  if (embedder === null || texts.length === 0) return sent;
  const answer = await embedder.embed(texts, signal);
  return answer.kind === 'vectors' ? [...sent, ...answer.vectors] : sent;
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
