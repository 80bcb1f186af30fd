/** Regions: groups of similar baseline queries, so that each live query is compared with its like. */

import { type Matrix, selectRows } from '../../vector/matrix.ts';
import { nearestDirections, seededSphericalKMeans } from '../../vector/spherical-k-means.ts';
import type { QueryDensity } from './query-density.ts';

export interface Regions {
  readonly count: number;
  readonly columns: number;
  /** Row-major, `count` rows of length 1. */
  readonly centroids: Float64Array;
}

const MAX_REGIONS = 32;
/** Baseline queries for each region: fewer lose the tail of the region. */
const QUERIES_PER_REGION = 300;
/** Rows that the centroids are fitted on; more change them little and cost time in proportion. */
const MAX_FITTED_ROWS = 20_000;
const ITERATIONS = 20;
const STARTS = 2;

/** R = min(32, floor(N / 300)), 1 below N = 600. */
export function regionCount(baselineQueries: number): number {
  return Math.max(1, Math.min(MAX_REGIONS, Math.floor(baselineQueries / QUERIES_PER_REGION)));
}

/**
 * The regions of baseline queries, by spherical k-means of their vectors. Of more than 20,000 rows every n-th is
 * fitted on. The same rows and seed give the same regions.
 *
 * @param count number of regions; by default the one of `regionCount`
 */
export function findRegions(vectors: Matrix, seed: number, count: number = regionCount(vectors.rows)): Regions {
  const step = Math.ceil(vectors.rows / MAX_FITTED_ROWS);
  const fitted =
    step <= 1
      ? vectors
      : selectRows(
          vectors,
          Uint32Array.from({ length: Math.ceil(vectors.rows / step) }, (_, i) => i * step),
        );
  const { centroids } = seededSphericalKMeans(fitted, {
    k: count,
    starts: STARTS,
    iterations: ITERATIONS,
    seed,
  });
  return { count, columns: vectors.columns, centroids };
}

/**
 * The region with the largest cosine to each row; ties to the lowest number.
 *
 * @param lengths of the rows, where they are known
 * @throws RangeError for other dimensions
 */
export function assignRegions(vectors: Matrix, regions: Regions, lengths?: Float64Array): Int32Array {
  if (vectors.rows > 0 && vectors.columns !== regions.columns) {
    throw new RangeError(
      `The queries have ${vectors.columns} dimensions and the baseline has ${regions.columns}; the embedding model changed.`,
    );
  }
  return nearestDirections(vectors, regions.centroids, lengths);
}

export interface RegionRow {
  readonly region: number;
  /** Of the traffic now and in the baseline, 0..1. */
  readonly share: number;
  readonly baselineShare: number;
  /** Null when the window has no query there. */
  readonly density: number | null;
  /** share * -ln D: what the region adds to -ln D of all traffic; 0 without queries, negative when better covered. */
  readonly explained: number;
}

/**
 * What each region adds to a fall of the density, most first. With all queries in regions the parts sum to -ln D of the
 * whole.
 *
 * @param baselineShares by number of the region
 */
export function regionTable(
  { regions }: Pick<QueryDensity, 'regions'>,
  baselineShares: readonly number[],
): readonly RegionRow[] {
  return baselineShares
    .map((baselineShare, region): RegionRow => {
      const own = regions.find((candidate) => candidate.region === region);
      if (own === undefined) return { region, share: 0, baselineShare, density: null, explained: 0 };
      const explained = own.share * -Math.log(own.density);
      return { region, share: own.share, baselineShare, density: own.density, explained };
    })
    .toSorted((a, b) => b.explained - a.explained || a.region - b.region);
}
