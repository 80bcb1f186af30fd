/** How well the store covers a query, from the chunk that came nearest to it. */
import { firstWhere } from '../../math/stats/distributions.ts';
import { dotProduct, lengthOf, type Matrix, rowOf } from '../../math/vector/matrix.ts';
import type { Neighbours } from '../../math/vector/nearest-neighbours.ts';

/** The similarity of a query for which the store returned nothing. */
const NOTHING_FOUND = -1;

/** A cosine may leave [-1, 1] by the rounding of float32. */
const ROUNDING = 1e-4;

/** Part of its mean similarity to the store that a query is likely to find anyway. */
const MEAN_WEIGHT = 0.5;

/**
 * Cosine of the nearest of the chunks that a search found; none: -1.
 *
 * Null when a similarity is not a cosine (not finite, or outside of [-1, 1]): such a score is a distance, or the dot
 * product of vectors that are not scaled to length 1, and cannot be compared.
 */
export function nearestSimilarity(found: readonly { readonly similarity: number }[]): number | null {
  if (!found.every(({ similarity }) => Math.abs(similarity) <= 1 + ROUNDING)) return null;
  return Math.max(NOTHING_FOUND, ...found.map(({ similarity }) => similarity));
}

/**
 * The score of a query, `top-1-less-mean`: the cosine of its nearest chunk less half of its mean cosine to the store.
 * Some questions are near to everything, others to nothing; the mean is what a query finds whether it is covered or not.
 *
 * @param storeMean mean direction of the chunks, as `meanDirection` gives it; empty when it is not known, and nothing is
 *   taken off
 */
export function coverageScore(similarity: number, vector: ArrayLike<number>, storeMean: Float64Array): number {
  if (storeMean.length === 0) return similarity;
  const length = lengthOf(vector);
  return length === 0 ? similarity : similarity - (MEAN_WEIGHT * dotProduct(vector, storeMean)) / length;
}

/** Scores of queries whose nearest chunks were found by exact search; -1 without a store, less the mean. */
export function coverageScores(
  { k, similarities }: Neighbours,
  queries: Matrix,
  storeMean: Float64Array,
): Float64Array {
  return Float64Array.from({ length: queries.rows }, (_, row) =>
    coverageScore(similarities[row * k] ?? NOTHING_FOUND, rowOf(queries, row), storeMean),
  );
}

// A live query with what its search said of the store, as the passes of this folder take it.

export interface ScoredQuery {
  readonly id: string;
  /** Queries of one session are one vote; null when nobody named the session. */
  readonly session: string | null;
  /** As `coverageScore` gives it; null when it could not be measured. */
  readonly score: number | null;
  /** Row of its vector in the matrix that comes with the queries; null without a vector. */
  readonly row: number | null;
  readonly occurredAt: Date;
}

/** Queries and what their rows point into. The vectors are shared with the worker, and not changed meanwhile. */
export interface VectorisedQueries {
  readonly queries: readonly ScoredQuery[];
  readonly vectors: Matrix;
}

export interface MeasuredQuery extends ScoredQuery {
  readonly score: number;
}

/** Queries that are left out, each counted once by the first of these reasons. */
export interface DroppedQueries {
  /** No score, or one that is not finite. */
  readonly notMeasurable: number;
  /** A vector that holds NaN or an infinity. */
  readonly notFiniteVector: number;
  /** A vector of length 0. */
  readonly zeroVector: number;
}

/**
 * The queries that can be judged, in their order, and how many cannot. A query without a vector is kept: it belongs to
 * no region and is compared with the whole baseline.
 *
 * @param lengths of the vectors that the rows of the queries point into, as rowLengths gives them
 */
export function measuredQueries(
  queries: readonly ScoredQuery[],
  lengths: Float64Array,
): { readonly measured: readonly MeasuredQuery[]; readonly dropped: DroppedQueries } {
  const measured: MeasuredQuery[] = [];
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

// Where the score of a query stands among the scores of the baseline queries.

/** The scores of the baseline, frozen: each list ascending. */
export interface BaselineScores {
  readonly all: Float64Array;
  /** By number of the region. */
  readonly regions: readonly Float64Array[];
}

/** A query without a vector belongs to no region. */
export const NO_REGION = -1;

/** A region with fewer baseline queries says too little of its tail; its queries are ranked in the whole baseline. */
export const MIN_IN_REGION = 50;

/** -ln u of the worst 1 %: within it, queries count alike. */
export const MAX_SURPRISE = Math.log(100);

/** The score lists of a baseline. @param regions region of each score, `NO_REGION` for none */
export function baselineScores(
  scores: ArrayLike<number>,
  regions: ArrayLike<number>,
  regionCount: number,
): BaselineScores {
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
  return { all: Float64Array.from(scores).toSorted(), regions: lists.map((list) => list.toSorted()) };
}

/** Where a score stands among the scores of a baseline and itself: every rank that it shares with equal scores. */
export interface TiedRanks {
  /** From 1, the worst covered. */
  readonly first: number;
  readonly last: number;
  /** Ranks in all, one more than baseline scores. A rank r is the percentile u = r / of. */
  readonly of: number;
}

/**
 * The ranks of a score within the query's region, or within the whole baseline when the region has fewer than `fewest`
 * scores: from one more than the baseline scores below it, to one more than those that are not above it.
 *
 * @param score finite
 */
export function tiedRanks(
  score: number,
  region: number,
  baseline: BaselineScores,
  fewest: number = MIN_IN_REGION,
): TiedRanks {
  const own = baseline.regions[region];
  const scores = own !== undefined && own.length >= fewest ? own : baseline.all;
  const below = firstWhere(0, scores.length, (i) => (scores[i] as number) >= score);
  const notAbove = firstWhere(below, scores.length, (i) => (scores[i] as number) > score);
  return { first: below + 1, last: notAbove + 1, of: scores.length + 1 };
}

/**
 * Surprise x, in nats: the mean of min(-ln u, ln 100) over the tied ranks. 0 for the best covered queries; the mean over
 * the baseline is 0.99. Taking the last rank of all ties instead would make repeated questions look better covered.
 */
export function surpriseOf({ first, last, of }: TiedRanks): number {
  let sum = 0;
  for (let rank = first; rank <= last; rank++) sum += Math.min(-Math.log(rank / of), MAX_SURPRISE);
  // Adding 0 turns the -0 of u = 1 into 0.
  return sum / (last - first + 1) + 0;
}

/** The surprise of each; that of ranks which many queries share, as where one question is asked again and again, is computed once. */
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

/** Share of the tied ranks whose percentile is at most `threshold`, 0..1. */
export function tailShare({ first, last, of }: TiedRanks, threshold: number): number {
  const after = firstWhere(first, last + 1, (rank) => rank / of > threshold);
  return (after - first) / (last - first + 1);
}
