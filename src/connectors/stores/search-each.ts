import { inPortions } from './store-rows.ts';
import type { Nearest, NearestOfEachRequest, StoreOutcome, VectorStore } from './vector-store.ts';

/** Number of concurrent searches in a store that searches for one vector at a time. */
export const CONCURRENCY = 8;

/**
 * Searches for each vector, with one request if the store can search for several vectors. If such a request fails, its
 * vectors are searched separately, so that one vector cannot make the others fail.
 */
export async function searchEach(
  store: VectorStore,
  vectors: readonly Float32Array[],
  request: NearestOfEachRequest,
  signal: AbortSignal,
): Promise<readonly StoreOutcome<Nearest>[]> {
  const found = vectors.length > 1 ? await store.nearestOfEach?.(vectors, request, signal) : undefined;
  if (found?.kind === 'ok') return found.value.map((value) => ({ ...found, value }));
  const outcomes: StoreOutcome<Nearest>[] = [];
  for (const some of inPortions(vectors, CONCURRENCY))
    outcomes.push(...(await Promise.all(some.map((vector) => store.nearest({ ...request, vector }, signal)))));
  return outcomes;
}
