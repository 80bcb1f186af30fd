/** Vectors by id, in bounded portions -> the sample of the port. */
import { matrixOf } from '../vector/matrix.ts';
import type { SampledVectors } from './vector-store.ts';

export interface StoredVector {
  readonly id: string;
  readonly vector: Float32Array;
  readonly content: string | null;
}

/** Numbers of one portion, so that its JSON text stays near 10 MB and below the limit of an answer. */
const NUMBERS_PER_CALL = 2 ** 19;

/** How many vectors of this length to ask for at a time, 1 to `most`. */
export function vectorsPerCall(dimensions: number | null, most: number): number {
  return Math.max(1, Math.min(most, Math.floor(NUMBERS_PER_CALL / (dimensions ?? 4096))));
}

export function inPortions<Item>(items: readonly Item[], size: number): Item[][] {
  const portions: Item[][] = [];
  for (let start = 0; start < items.length; start += size) portions.push(items.slice(start, start + size));
  return portions;
}

export function toSample(stored: readonly StoredVector[], isSeeded: boolean): SampledVectors {
  return {
    ids: stored.map(({ id }) => id),
    vectors: matrixOf(stored.map(({ vector }) => vector)),
    contents: stored.map(({ content }) => content),
    isSeeded,
  };
}

/**
 * Asks in portions, and again for those that were not found while an answer was as long as it could be: the chunks
 * of one document may have filled it. Each further call finds at least one more id, so the calls are bounded by the
 * number of ids.
 *
 * @param ask ids that were found among `wanted`, one for each chunk, at most `limit` of them
 */
export async function knownIds(
  ids: readonly string[],
  portion: number,
  limit: number,
  ask: (wanted: readonly string[], limit: number) => Promise<readonly string[]>,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const wanted of inPortions([...new Set(ids)], portion)) {
    for (let open = wanted; open.length > 0; ) {
      const asked = new Set(open);
      const answer = await ask(open, limit);
      const found = answer.filter((id) => asked.has(id));
      for (const id of found) known.add(id);
      if (answer.length < limit || found.length === 0) break;
      open = open.filter((id) => !known.has(id));
    }
  }
  return known;
}
