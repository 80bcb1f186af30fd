/** Regions: groups of similar baseline queries, so that each live query is compared with its like. */

import { nearestDirections } from '../../clustering/lloyd.ts';
import { seededSphericalKMeans } from '../../clustering/spherical-k-means.ts';
import { type Matrix, selectRows } from '../../vector/matrix.ts';

export interface Regions {
  readonly count: number;
  readonly columns: number;
  /** Row-major, `count` rows of length 1. */
  readonly centroids: Float64Array;
}

const MOST_REGIONS = 32;
/** Baseline queries for each region: fewer lose the tail of the region. */
const QUERIES_PER_REGION = 300;
/** Rows that the centroids are fitted on; more change them little and cost time in proportion. */
const MOST_FITTED_ROWS = 20_000;
const ITERATIONS = 20;
const STARTS = 2;

/** R = min(32, floor(N / 300)), 1 below N = 600. */
export function regionCount(baselineQueries: number): number {
  return Math.max(1, Math.min(MOST_REGIONS, Math.floor(baselineQueries / QUERIES_PER_REGION)));
}

/**
 * The regions of baseline queries, by spherical k-means of their vectors. Of more than 20,000 rows every n-th is
 * fitted on. The same rows and seed give the same regions.
 *
 * @param count number of regions; by default the one of `regionCount`
 */
export function findRegions(
  vectors: Matrix,
  seed: number,
  count: number = regionCount(vectors.rows),
): Regions {
  const step = Math.ceil(vectors.rows / MOST_FITTED_ROWS);
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
