/** The input and the results of a store test, and functions that several store tests use. */
import { groupBy } from '../../../core/group-by.ts';
import { cosineSimilarity, dotProduct } from '../../../math/vector/matrix.ts';
import { isAway } from '../store-rows.ts';
import type { Neighbour, StoreDescription, StoreOutcome, VectorMetric, VectorStore } from '../vector-store.ts';

export interface KnownChunk {
  /** Id of the document. */
  readonly id: string;
  /** The vector as the store contains it. Some stores normalize vectors, and thus preserve only their directions. */
  readonly vector: Float32Array;
  readonly content: string | null;
}

export interface StoreSubject {
  readonly store: VectorStore;
  readonly description: StoreDescription;
  readonly known: readonly KnownChunk[];
  /** The chunks in `known`, grouped by document id. */
  readonly byId: ReadonlyMap<string, readonly KnownChunk[]>;
  /** True if `known` contains all chunks; in that case, every search can be compared with brute force. */
  readonly isWhole: boolean;
  readonly queries: readonly Float32Array[];
  /** A field and a value that some chunks have; `ids` are the ids of those chunks, null if unknown. */
  readonly filter: { readonly name: string; readonly value: string; readonly ids: ReadonlySet<string> | null } | null;
  /** Maximum accepted error of a similarity, above 0 because stores that quantize vectors are inexact. */
  readonly tolerance: number;
  /** Minimum share of the true ten nearest neighbors that an index search must find. */
  readonly minRecall: number;
  readonly signal: AbortSignal;
}

/** A requirement for every store that can be checked without writing to the store. */
export interface StoreTest {
  /** Short and stable name. */
  readonly name: string;
  readonly does: string;
  /** Returns one sentence with the observation. @throws Broken, NotSupported, NotTried, Away */
  run(subject: StoreSubject): Promise<string>;
}

/** The store violates a requirement. */
export class Broken extends Error {}
/** The store reports that it does not support the feature. */
export class NotSupported extends Error {}
/** The test is not possible with this store or config. */
export class NotTried extends Error {}
/** The store does not respond. */
export class Away extends Error {}

/** @throws Broken with this sentence if the condition is false */
export function must(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new Broken(sentence);
}

/** @throws NotSupported, Away or Broken if the outcome is not `ok` */
export function valueOf<Value>(outcome: StoreOutcome<Value>): Value {
  switch (outcome.kind) {
    case 'ok':
      return outcome.value;
    case 'unsupported':
      throw new NotSupported(outcome.reason);
    case 'failed':
      throw isAway(outcome.code) ? new Away(outcome.message) : new Broken(outcome.message);
  }
}

export function chunksById(known: readonly KnownChunk[]): ReadonlyMap<string, readonly KnownChunk[]> {
  return groupBy(known, ({ id }) => id);
}

/**
 * Finds a neighbor's chunk. If a document has several chunks, returns the chunk whose cosine is closest to the
 * reported similarity.
 */
export function chunkOf(
  { id, similarity }: Neighbour,
  query: Float32Array,
  byId: ReadonlyMap<string, readonly KnownChunk[]>,
): { readonly chunk: KnownChunk; readonly off: number } | null {
  const [best] = (byId.get(id) ?? [])
    .map((chunk) => ({ chunk, off: Math.abs(cosineSimilarity(chunk.vector, query) - similarity) }))
    .toSorted((a, b) => a.off - b.off);
  return best ?? null;
}

/** Returns the k chunks that are best by `metric`, best first. */
export function bruteForce(
  chunks: readonly { readonly id: string; readonly vector: Float32Array }[],
  query: Float32Array,
  k: number,
  metric: VectorMetric,
) {
  return chunks
    .map(({ id, vector }) => ({
      id,
      cosine: cosineSimilarity(vector, query),
      /** Score in the given metric (higher is better): cosine, dot product or negative squared distance. */
      goodness: goodness(vector, query, metric),
    }))
    .toSorted((a, b) => b.goodness - a.goodness)
    .slice(0, k);
}

export function goodness(vector: Float32Array, query: Float32Array, metric: VectorMetric): number {
  switch (metric) {
    case 'cosine':
      return cosineSimilarity(vector, query);
    case 'dot':
      return dotProduct(vector, query);
    case 'l2':
      return -vector.reduce((sum, value, index) => sum + (value - (query[index] ?? 0)) ** 2, 0);
  }
}

/** Share of the true k nearest chunks that were found. */
export function recallOf(found: readonly string[], truth: readonly { readonly id: string }[]): number {
  const ids = new Set(found);
  return truth.filter(({ id }) => ids.has(id)).length / truth.length;
}

/**
 * Limit for the absolute value of `unevenness`. If all chunks are equally likely, one run in a million exceeds the
 * limit by chance.
 */
export const MAX_UNEVEN = 4.9;

/**
 * Returns how far the counts are from equal shares, as a standard normal deviate. The deviate is computed from the
 * chi-square statistic, which is corrected for sampling without replacement from a finite population and then
 * transformed by the cube-root method of Wilson and Hilferty (1931). A deviate beyond 4.9, on either side, has a
 * probability of 1 in a million.
 *
 * @param samples how often each of the equally large groups was sampled, one list per sample
 * @param drawnShare share of the population in each sample
 */
export function unevenness(samples: readonly (readonly number[])[], drawnShare: number): number {
  let statistic = 0;
  let freedom = 0;
  for (const counts of samples) {
    const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    for (const count of counts) statistic += (count - expected) ** 2 / expected / (1 - drawnShare);
    freedom += counts.length - 1;
  }
  const spread = 2 / (9 * freedom);
  return ((statistic / freedom) ** (1 / 3) - (1 - spread)) / Math.sqrt(spread);
}
