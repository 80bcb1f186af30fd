/** Where the score of a query stands among the scores of the baseline queries. */
import { firstWhere } from '../../stats/bisection.ts';

/** The scores of the baseline, frozen: each list ascending. */
export interface BaselineScores {
  readonly all: Float64Array;
  /** By number of the region. */
  readonly regions: readonly Float64Array[];
}

/** A query without a vector belongs to no region. */
export const NO_REGION = -1;

/** A region with fewer baseline queries says too little of its tail; its queries are ranked in the whole baseline. */
export const FEWEST_IN_REGION = 50;

/** -ln u of the worst 1 %: within it, queries count alike. */
export const LARGEST_SURPRISE = Math.log(100);

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
  fewest: number = FEWEST_IN_REGION,
): number {
  const own = baseline.regions[region];
  const scores = own !== undefined && own.length >= fewest ? own : baseline.all;
  return (1 + countAtMost(scores, score)) / (scores.length + 1);
}

/** Surprise x = min(-ln u, ln 100), in nats: 0 for the best covered queries; the mean over the baseline is 0.99. */
export function surpriseOf(percentile: number): number {
  // Adding 0 turns the -0 of u = 1 into 0.
  return Math.min(-Math.log(percentile), LARGEST_SURPRISE) + 0;
}

function countAtMost(ascending: Float64Array, score: number): number {
  return firstWhere(0, ascending.length, (i) => (ascending[i] as number) > score);
}
