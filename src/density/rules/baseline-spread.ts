/** Regions of similar baseline queries, and the spread of session means. */
import { moments } from '../../math/stats/descriptive.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import { type Matrix, selectRows } from '../../math/vector/matrix.ts';
import { nearestDirections, seededSphericalKMeans } from '../../math/vector/spherical-k-means.ts';
import type { QueryDensity } from './query-density.ts';
import { BASELINE_MEAN_X } from './query-score.ts';

export type BaselineSpread = ReturnType<typeof baselineSpread>;

const UPPER_Z = normalQuantile(0.99);

/** @param windows mean matched surprises of the sessions in each window; at least one window must contain a session */
export function baselineSpread(windows: readonly Float64Array[]) {
  const all = windows.flatMap((means) => [...means]);
  const { mean, standardDeviation } = moments(all);
  const pooled = { mean, variance: standardDeviation ** 2 };
  const phi = overdispersion(
    windows.map((means) => ({
      sessions: means.length,
      meanX: means.reduce((sum, x) => sum + x, 0) / means.length,
    })),
    pooled,
  );
  return {
    /** Number of sessions, summed over all windows. */
    sessions: all.length,
    /** Mean of the session means of the matched surprise x, cross-fitted. */
    meanX: mean,
    /** Variance of the session means of x. */
    variance: pooled.variance,
    /** Overdispersion of the per-window means, at least 1. */
    phi,
    /** Upper bound of the true mean of the matched surprise x. */
    meanXUpper: meanXUpper(pooled, phi, all.length, UPPER_Z),
  };
}

/** Returns the variance of the mean surprise between sessions, including the overdispersion between windows. */
export function sessionVariance({ variance, phi }: Pick<BaselineSpread, 'variance' | 'phi'>): number {
  return variance * phi;
}

/**
 * Overdispersion of the per-window means, relative to those of independent sessions; window w has n_w sessions:
 *
 * phi = max(1, sum over w of n_w (mean_w - mean)^2 / ((W - 1) variance))
 *
 * Windows without sessions do not count. With fewer than two windows, or without variance, phi is 1.
 */
export function overdispersion(
  windows: readonly { readonly sessions: number; readonly meanX: number }[],
  pooled: Parameters<typeof meanXUpper>[0],
): number {
  const filled = windows.filter(({ sessions }) => sessions > 0);
  if (filled.length < 2 || pooled.variance <= 0) return 1;
  let squares = 0;
  for (const { sessions, meanX } of filled) squares += sessions * (meanX - pooled.mean) ** 2;
  // The ratio may be below 1 by chance.
  return Math.max(1, squares / ((filled.length - 1) * pooled.variance));
}

/**
 * Returns an upper bound of the true mean of x in the baseline: max(0.99, mean) + z sqrt(phi variance / sessions). The
 * detector uses this bound to account for the uncertainty of the baseline.
 *
 * @param pooled mean and variance of the session means of x over the whole baseline
 */
export function meanXUpper(
  pooled: { readonly mean: number; readonly variance: number },
  phi: number,
  sessions: number,
  z: number,
): number {
  return Math.max(BASELINE_MEAN_X, pooled.mean) + z * Math.sqrt((phi * pooled.variance) / sessions);
}

/**
 * Returns the largest mean surprise that does not count as drift.
 *
 * @param floor lowest acceptable density, such as 0.95
 */
export function nullMeanX(upper: number, floor: number): number {
  return upper - Math.log(floor);
}

export interface Regions {
  readonly count: number;
  readonly columns: number;
  /** Centroids of the regions: row-major, `count` rows of length 1. */
  readonly centroids: Float64Array;
}

const MAX_REGIONS = 32;
/**
 * Minimum average number of baseline queries per region. With fewer queries, regions would have too few tail queries.
 */
const QUERIES_PER_REGION = 300;
/**
 * Maximum number of rows to which centroids are fitted. More rows would hardly change the centroids and would take
 * proportionally longer.
 */
const MAX_FITTED_ROWS = 20_000;

/** Number of regions for N baseline queries: R = min(32, floor(N / 300)), or 1 if N < 600. */
export function regionCount(baselineQueries: number): number {
  return Math.max(1, Math.min(MAX_REGIONS, Math.floor(baselineQueries / QUERIES_PER_REGION)));
}

/**
 * Finds the regions of baseline queries by spherical k-means of their vectors. If there are more than 20,000 rows, the
 * centroids are fitted to every n-th row only. The same rows and seed always produce the same regions.
 *
 * @param count number of regions; `regionCount` by default
 */
export function findRegions(vectors: Matrix, seed: number, count: number = regionCount(vectors.rows)): Regions {
  const step = Math.ceil(vectors.rows / MAX_FITTED_ROWS);
  const rows = Uint32Array.from({ length: Math.ceil(vectors.rows / step) }, (_, i) => i * step);
  const fitted = step <= 1 ? vectors : selectRows(vectors, rows);
  const { centroids } = seededSphericalKMeans(fitted, { k: count, seed });
  return { count, columns: vectors.columns, centroids };
}

/**
 * Assigns each row to the region with the largest cosine; if there is a tie, to the region with the lowest number.
 *
 * @param lengths Euclidean norms of the rows, if known
 * @throws RangeError if the dimensions differ
 */
export function assignRegions(vectors: Matrix, regions: Regions, lengths?: Float64Array): Int32Array {
  if (vectors.rows > 0 && vectors.columns !== regions.columns) {
    throw new RangeError(
      `The queries have ${vectors.columns} dimensions and the baseline has ${regions.columns}: the embedding model has changed.`,
    );
  }
  return nearestDirections(vectors, regions.centroids, lengths);
}

export type RegionRow = ReturnType<typeof regionTable>[number];

/**
 * Returns the contribution of each region to a drop in density, largest first. If all queries are in regions, the
 * contributions add up to -ln D of all traffic.
 *
 * @param baselineShares share of the baseline in each region, in order of the region numbers
 */
export function regionTable(regions: QueryDensity['regions'], baselineShares: readonly number[]) {
  return baselineShares
    .map((baselineShare, region) => {
      const { share = 0, density = null } = regions.find((candidate) => candidate.region === region) ?? {};
      return {
        region,
        /** The region's share of the current traffic, from 0 to 1. */
        share,
        /** The region's share of the baseline, from 0 to 1. */
        baselineShare,
        /** Density of the region; null if the window has no query in it. */
        density,
        /**
         * Contribution of the region to -ln D of all traffic: share * -ln D. 0 if the region has no queries; negative
         * if coverage of the region improved.
         */
        explained: density === null ? 0 : share * -Math.log(density),
      };
    })
    .toSorted((a, b) => b.explained - a.explained || a.region - b.region);
}
