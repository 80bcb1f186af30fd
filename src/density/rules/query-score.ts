/** How well the store covers a query, from the similarities of the chunks that a search for it found. */
import { firstWhere } from '../../stats/numerics.ts';
import type { Matrix } from '../../vector/matrix.ts';

/** One chunk of a search result. */
interface FoundChunk {
  /** Names the content, so that copies count once: a hash of it, or the chunk's id when there is none. */
  readonly content: string;
  /** Cosine to the query. */
  readonly similarity: number;
}

/** The score of a query for which the store returned nothing. */
const NOTHING_FOUND = -1;

/** A cosine may leave [-1, 1] by the rounding of float32. */
const ROUNDING = 1e-4;

/**
 * Mean cosine of the query to its k best distinct chunks, rho. Fewer chunks: the mean of those; none: -1.
 *
 * Null when a similarity is not a cosine (not finite, or outside of [-1, 1]): such a score is a distance, or the dot
 * product of vectors that are not scaled to length 1, and cannot be compared.
 */
export function coverageScore(found: readonly FoundChunk[], k: number): number | null {
  const best = new Map<string, number>();
  for (const { content, similarity } of found) {
    if (!(Math.abs(similarity) <= 1 + ROUNDING)) return null;
    best.set(content, Math.max(similarity, best.get(content) ?? NOTHING_FOUND));
  }
  if (best.size === 0) return NOTHING_FOUND;
  const top = [...best.values()].toSorted((a, b) => b - a).slice(0, k);
  return top.reduce((sum, similarity) => sum + similarity, 0) / top.length;
}

// A live query with what its search said of the store, as the passes of this folder take it.

export interface ScoredQuery {
  readonly id: string;
  /** Queries of one session are one vote; null when nobody named the session. */
  readonly session: string | null;
  /** Mean cosine to its k best distinct chunks; null when it could not be measured. */
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

/**
 * Percentile u = (1 + number of baseline scores <= score) / (N + 1) within the query's region, or within the whole
 * baseline when the region has fewer than `fewest` scores. In (0, 1]; a score below the whole baseline has 1/(N + 1).
 *
 * @param score finite
 */
export function percentile(
  score: number,
  region: number,
  baseline: BaselineScores,
  fewest: number = MIN_IN_REGION,
): number {
  const own = baseline.regions[region];
  const scores = own !== undefined && own.length >= fewest ? own : baseline.all;
  return (1 + countAtMost(scores, score)) / (scores.length + 1);
}

/** Surprise x = min(-ln u, ln 100), in nats: 0 for the best covered queries; the mean over the baseline is 0.99. */
export function surpriseOf(percentile: number): number {
  // Adding 0 turns the -0 of u = 1 into 0.
  return Math.min(-Math.log(percentile), MAX_SURPRISE) + 0;
}

function countAtMost(ascending: Float64Array, score: number): number {
  return firstWhere(0, ascending.length, (i) => (ascending[i] as number) > score);
}
