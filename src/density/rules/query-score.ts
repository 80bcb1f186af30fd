import { firstWhere } from '../../math/stats/distributions.ts';
import { dotProduct, lengthOf, type Matrix, rowOf } from '../../math/vector/matrix.ts';
import type { Neighbours } from '../../math/vector/nearest-neighbours.ts';

const NOTHING_FOUND = -1;

/** Tolerance for float32 rounding of a cosine. */
const ROUNDING = 1e-4;

/** Weight with which a query's mean similarity to the store is subtracted from its similarity to the nearest chunk. */
const MEAN_WEIGHT = 0.5;

/**
 * Cosine to the nearest chunk found; -1 if none was found. Null if any similarity is not finite or is outside [-1, 1].
 * Such a value is a distance, or a dot product of vectors that are not normalized, and cannot be compared with cosines.
 */
export function nearestSimilarity(found: readonly { readonly similarity: number }[]): number | null {
  if (!found.every(({ similarity }) => Math.abs(similarity) <= 1 + ROUNDING)) return null;
  return Math.max(NOTHING_FOUND, ...found.map(({ similarity }) => similarity));
}

/**
 * Score of a query, `top-1-less-mean`: the cosine to its nearest chunk minus half of its mean cosine to the store.
 * Regardless of coverage, some queries are close to all chunks, and others are far from all chunks. Subtracting the
 * mean removes this effect.
 *
 * @param storeMean mean direction of the chunks, from `meanDirection`; if it is empty (unknown), nothing is subtracted
 */
export function coverageScore(similarity: number, vector: ArrayLike<number>, storeMean: Float64Array): number {
  if (storeMean.length === 0) return similarity;
  const length = lengthOf(vector);
  return length === 0 ? similarity : similarity - (MEAN_WEIGHT * dotProduct(vector, storeMean)) / length;
}

/**
 * Computes the score of each query from the similarities of its nearest chunks. In an empty store, the similarity is
 * -1.
 */
export function coverageScores(
  { k, similarities }: Neighbours,
  queries: Matrix,
  storeMean: Float64Array,
): Float64Array {
  return Float64Array.from({ length: queries.rows }, (_, row) =>
    coverageScore(similarities[row * k] ?? NOTHING_FOUND, rowOf(queries, row), storeMean),
  );
}

export interface ScoredQuery {
  readonly id: string;
  /** Session of the query, null if unknown. All queries of one session together count as one unit. */
  readonly session: string | null;
  /** Score from `coverageScore`; null if not measurable. */
  readonly score: number | null;
  /** Row of the query vector in the accompanying matrix; null if there is no vector. */
  readonly row: number | null;
  readonly occurredAt: Date;
}

/**
 * Queries and the matrix of their vectors. Worker threads share the matrix, so it must not change during a computation.
 */
export interface VectorisedQueries {
  readonly queries: readonly ScoredQuery[];
  readonly vectors: Matrix;
}

export interface MeasuredQuery extends ScoredQuery {
  readonly score: number;
}

/**
 * Returns the measurable queries in order, and the number of excluded queries by reason. Queries without a vector are
 * measurable too: they have no region, so they are compared with the whole baseline.
 *
 * @param lengths Euclidean norms of the vectors, from rowLengths
 */
export function measuredQueries(queries: readonly ScoredQuery[], lengths: Float64Array) {
  const measured: MeasuredQuery[] = [];
  /** Each excluded query is counted once, under the first reason that applies. */
  const dropped = { notMeasurable: 0, notFiniteVector: 0, zeroVector: 0 };
  for (const query of queries) {
    const { score, row } = query;
    if (score === null || !Number.isFinite(score)) {
      dropped.notMeasurable++;
      continue;
    }
    const length = row === null ? 1 : (lengths[row] ?? 0);
    if (length === 0) dropped.zeroVector++;
    else if (!Number.isFinite(length)) dropped.notFiniteVector++;
    else measured.push({ ...query, score });
  }
  return { measured, dropped };
}

/** Region number of a query without a vector. */
export const NO_REGION = -1;

/**
 * Minimum number of baseline queries in a region. Queries in a smaller region are ranked within the whole baseline,
 * because the region has too few tail queries.
 */
export const MIN_IN_REGION = 50;

/** Maximum surprise: -ln 0.01. All queries whose percentile is at most 0.01 have this surprise. */
export const MAX_SURPRISE = Math.log(100);

/** Mean surprise of the baseline queries, E[min(-ln u, ln 100)] for uniform u. */
export const BASELINE_MEAN_X = 0.99;

export type BaselineScores = ReturnType<typeof baselineScores>;

/**
 * Builds the score lists of a baseline, each in ascending order: one list of all scores, and one list per region,
 * indexed by region number.
 *
 * @param regions region of each score; `NO_REGION` if it has none
 */
export function baselineScores(scores: ArrayLike<number>, regions: ArrayLike<number>, regionCount: number) {
  const sizes = new Uint32Array(regionCount);
  for (let i = 0; i < scores.length; i++) {
    const region = regions[i] ?? NO_REGION;
    if (region !== NO_REGION) sizes[region] = (sizes[region] ?? 0) + 1;
  }
  const lists = Array.from(sizes, (size) => new Float64Array(size));
  const filled = new Uint32Array(regionCount);
  for (let i = 0; i < scores.length; i++) {
    const list = lists[regions[i] ?? NO_REGION];
    if (list === undefined) continue;
    const region = regions[i] ?? 0;
    list[filled[region] ?? 0] = scores[i] ?? 0;
    filled[region] = (filled[region] ?? 0) + 1;
  }
  const all: Float64Array = Float64Array.from(scores).toSorted();
  return { all, regions: lists.map((list): Float64Array => list.toSorted()) };
}

/**
 * Range of ranks of a score in a list that contains this score and all baseline scores. Baseline scores equal to this
 * score share its range of ranks.
 */
export type TiedRanks = ReturnType<typeof tiedRanks>;

/**
 * Ranks of a score within the query's region, or within the whole baseline if the region has fewer than `fewest`
 * scores. The first rank is one more than the number of baseline scores below the score; the last rank is one more than
 * the number of baseline scores that do not exceed the score.
 *
 * @param score finite
 */
export function tiedRanks(score: number, region: number, baseline: BaselineScores, fewest: number = MIN_IN_REGION) {
  const own = baseline.regions[region];
  const scores = own !== undefined && own.length >= fewest ? own : baseline.all;
  const below = firstWhere(0, scores.length, (i) => (scores[i] as number) >= score);
  const notAbove = firstWhere(below, scores.length, (i) => (scores[i] as number) > score);
  return {
    /** First of the tied ranks; rank 1 is the worst-covered query. */
    first: below + 1,
    last: notAbove + 1,
    /** Number of ranks: the number of baseline scores plus one. Rank r corresponds to the percentile u = r / `of`. */
    of: scores.length + 1,
  };
}

/**
 * Surprise x, in nats: the mean of min(-ln u, ln 100) over the tied ranks. 0 for the best-covered queries; 0.99 on
 * average over the baseline. If only the last tied rank counted, repeated queries would look better covered than
 * others.
 */
export function surpriseOf({ first, last, of }: TiedRanks): number {
  let sum = 0;
  for (let rank = first; rank <= last; rank++) sum += Math.min(-Math.log(rank / of), MAX_SURPRISE);
  // For u = 1, -ln u is -0; adding 0 turns it into 0.
  return sum / (last - first + 1) + 0;
}

/**
 * Surprise of each query. Computes the surprise only once for queries with the same range of ranks, such as repeated
 * queries.
 */
export function surprisesOf(ranks: readonly TiedRanks[]): Float64Array {
  const known = new Map<string, number>();
  return Float64Array.from(ranks, (tied) => {
    if (tied.first === tied.last) return surpriseOf(tied);
    const key = `${tied.first} ${tied.last} ${tied.of}`;
    const surprise = known.get(key) ?? surpriseOf(tied);
    known.set(key, surprise);
    return surprise;
  });
}

/** Share of the tied ranks with a percentile of at most `threshold`, 0 to 1. */
export function tailShare({ first, last, of }: TiedRanks, threshold: number): number {
  const after = firstWhere(first, last + 1, (rank) => rank / of > threshold);
  return (after - first) / (last - first + 1);
}
