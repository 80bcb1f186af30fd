/** One live query against the store: how near are its k best distinct chunks? */

import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Neighbour, VectorStore } from '../stores/vector-store.ts';
import { lengthOf } from '../vector/matrix.ts';
import type { RetainedQuery } from './baselines-table.ts';
import type { DensityPlan } from './plan.ts';
import { coverageScore } from './rules/query-score.ts';
import type { LostChunks } from './rules/watch-sentences.ts';

type SearchedCoverage =
  | {
      readonly kind: 'measured';
      readonly score: number;
      readonly reason: 'short' | null;
      readonly nearest: readonly (readonly [string, number])[];
    }
  | { readonly kind: 'not_measurable'; readonly reason: string }
  /** The store did not answer; it may later. */
  | { readonly kind: 'failed'; readonly message: string };

/** Chunks that are asked for, in multiples of k: copies of a chunk count once. */
const FIRST_LOOK = 4;
const SECOND_LOOK = 16;

/**
 * Searches the store with its own index, before any rerank or fusion, for k distinct chunks: four times as many are
 * asked for, and sixteen times when copies took their places. Chunks are the same when their texts are, or, where the
 * store returns no text, when they are equally similar to the last digit, as copies of one vector are.
 */
export async function searchCoverage(
  store: VectorStore,
  vector: Float32Array,
  k: number,
  signal: AbortSignal,
): Promise<SearchedCoverage> {
  const length = lengthOf(vector);
  if (length === 0) return { kind: 'not_measurable', reason: 'zero_vector' };
  if (!Number.isFinite(length)) return { kind: 'not_measurable', reason: 'not_finite_vector' };
  let distinct: Neighbour[] = [];
  for (const times of [FIRST_LOOK, SECOND_LOOK]) {
    const request = { vector, k: k * times, filter: {}, exact: false, withContent: true };
    const answer = await store.nearest(request, signal);
    if (answer.kind === 'unsupported') return { kind: 'not_measurable', reason: 'unsupported' };
    if (answer.kind === 'failed') {
      if (answer.code === 'dimension_mismatch') return { kind: 'not_measurable', reason: answer.code };
      return { kind: 'failed', message: answer.message };
    }
    const { neighbours, isShort } = answer.value;
    distinct = distinctChunks(neighbours);
    if (distinct.length >= k || isShort) break;
  }
  const found = distinct.map((chunk) => ({ content: contentOf(chunk), similarity: chunk.similarity }));
  const score = coverageScore(found, k);
  if (score === null) return { kind: 'not_measurable', reason: 'not_a_cosine' };
  return {
    kind: 'measured',
    score,
    reason: distinct.length < k ? 'short' : null,
    nearest: distinct.slice(0, k).map(({ id, similarity }) => [id, similarity] as const),
  };
}

/** The most similar of each content, most similar first. */
function distinctChunks(neighbours: readonly Neighbour[]): Neighbour[] {
  const first = new Map<string, Neighbour>();
  for (const chunk of neighbours.toSorted((a, b) => b.similarity - a.similarity)) {
    const content = contentOf(chunk);
    if (!first.has(content)) first.set(content, chunk);
  }
  return [...first.values()];
}

function contentOf({ content, similarity }: Neighbour): string {
  return content === null ? `similarity ${similarity}` : `text ${content}`;
}

const MAX_PROBED = 2_000;
const MAX_NAMED = 20;

/**
 * Looks in the store for chunks that baseline queries found.
 *
 * @returns null when there is nothing to look for, or the store could not be asked
 */
export async function findLostChunks(
  { logger }: { readonly logger: Logger },
  { pipeline, store }: DensityPlan,
  queries: readonly Pick<RetainedQuery, 'nearest'>[],
  signal: AbortSignal,
): Promise<LostChunks | null> {
  const ids = [...new Set(queries.flatMap(({ nearest }) => nearest.map(([id]) => id)))].slice(0, MAX_PROBED);
  if (ids.length === 0) return null;
  const answer = await store.existing(ids, signal);
  if (answer.kind !== 'ok') {
    const reason = answer.kind === 'failed' ? answer.message : answer.reason;
    logger.warn('lost chunks could not be looked for in the vector store', { pipeline, reason });
    return null;
  }
  const missing = ids.filter((id) => !answer.value.has(id));
  return { probed: ids.length, missing: missing.length, ids: missing.slice(0, MAX_NAMED) };
}

/** Evenly spaced turns, at most `perSecond` of them in any second. */
export function createPace(clock: Clock, perSecond: number): (signal: AbortSignal) => Promise<void> {
  const gapMs = 1000 / perSecond;
  let next = clock.monotonicMs();
  return async (signal) => {
    const now = clock.monotonicMs();
    const turn = Math.max(now, next);
    next = turn + gapMs;
    if (turn > now) await clock.sleep(turn - now, signal);
  };
}
