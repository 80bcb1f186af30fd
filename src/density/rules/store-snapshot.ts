/**
 * Content of a vector store, estimated from a uniform sample: clusters, centroid, and shifts since the last snapshot.
 */
import {
  dotProduct,
  lengthOf,
  type Matrix,
  meanDirection,
  normaliseRows,
  rowOf,
  selectRows,
} from '../../math/vector/matrix.ts';
import { nearestDirections, seededSphericalKMeans } from '../../math/vector/spherical-k-means.ts';
import { type PairTable, pairDistances, pairOffset, unitVectors } from './pair-distances.ts';
import { shareDivergence } from './two-sample-statistics.ts';

const MAX_CLUSTERS = 32;
const ROWS_PER_CLUSTER = 30;

/**
 * Clusters a sample by direction into K = min(32, rows / 30) clusters, but at least one.
 *
 * @param sample vectors drawn uniformly at random from the store
 * @returns null if every vector of the sample is zero or not finite
 */
export function takeStoreSnapshot(sample: Matrix, seed: number) {
  const { matrix, directedRows: kept } = normaliseRows(sample);
  if (kept.length === 0) return null;
  const directions = selectRows(matrix, kept);
  const k = Math.max(1, Math.min(MAX_CLUSTERS, Math.floor(kept.length / ROWS_PER_CLUSTER)));
  const clustering = seededSphericalKMeans(directions, { k, seed });
  const shares: Float64Array = new Float64Array(k);
  const clusters: Matrix = { rows: k, columns: sample.columns, data: Float32Array.from(clustering.centroids) };
  for (const label of clustering.labels) shares[label] = (shares[label] ?? 0) + 1 / kept.length;
  return {
    /** Number of sampled vectors that are finite and not zero. */
    rows: kept.length,
    /** Mean of the directions, not scaled to length 1. */
    centroid: meanDirection(directions),
    meanLength: kept.reduce((sum, row) => sum + lengthOf(rowOf(sample, row)), 0) / kept.length,
    /** Directions of the clusters, in row-major order. */
    clusters,
    /** Share of the sample in each cluster, 0 to 1. */
    shares,
  };
}

/** Mean direction and mean length of the vectors in a store. */
export interface StoreCenter {
  readonly centroid: Float64Array;
  readonly meanLength: number;
}

/** @returns null if the dimensions differ, because a change of the embedding model is not a shift of the content */
export function storeShift(before: StoreCenter, after: StoreCenter) {
  if (before.centroid.length !== after.centroid.length) return null;
  const lengths = lengthOf(before.centroid) * lengthOf(after.centroid);
  return {
    /** 1 - cosine between the two centroids, 0 to 2; 1 if one of them has no direction. */
    centroidCosineDistance: lengths === 0 ? 1 : 1 - dotProduct(before.centroid, after.centroid) / lengths,
    /** Current mean norm of the vectors divided by the previous mean norm. */
    lengthRatio: before.meanLength === 0 ? 1 : after.meanLength / before.meanLength,
  };
}

/** Maximum number of rows per side in pairwise comparisons. Additional rows count only toward the cluster shares. */
const MAX_PAIRED = 1000;
/**
 * Number of nearest rows in the same sample that determine the neighborhood of a row: it extends to the farthest of
 * them.
 */
const NEIGHBOURS = 5;

/**
 * Compares uniform samples of the store and of live queries. Ignores vectors that are zero or not finite.
 *
 * @param clusters directions of the store's clusters, with the share of chunks in each
 * @param weights inverse inclusion probabilities of the queries
 * @returns null if a side has fewer than two vectors, or if the dimensions differ
 */
export function compareStoreWithTraffic(
  chunks: Matrix,
  { clusters, shares }: { readonly clusters: Matrix; readonly shares: Float64Array },
  queries: Matrix,
  weights: ArrayLike<number>,
) {
  const asked = withDirection(queries);
  const stored = withDirection(chunks);
  if (asked.rows.length < 2 || stored.rows.length < 2 || queries.columns !== chunks.columns) return null;
  const labels = nearestDirections(asked.matrix, Float64Array.from(clusters.data));
  const queryWeights = new Float64Array(clusters.rows);
  for (const [index, row] of asked.rows.entries()) {
    const label = labels[index] ?? 0;
    queryWeights[label] = (queryWeights[label] ?? 0) + (weights[row] ?? 0);
  }
  const total = queryWeights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) return null;
  const coverage = manifoldCoverage(
    pairDistances(unitVectors(head(stored.matrix)), unitVectors(head(asked.matrix))),
    NEIGHBOURS,
  );
  return {
    /** Weighted share of the queries that are in each cluster, 0 to 1. */
    queryShares: queryWeights.map((weight) => weight / total),
    /**
     * Jensen-Shannon divergence between query shares and chunk shares, 0 to 1 bit. The divergence is above 0 even if
     * users query the entire store, because queries and chunks are different kinds of text.
     */
    divergenceBits: shareDivergence(queryWeights, shares),
    /** Share of sampled queries that are not in the neighborhood of any sampled chunk. */
    queriesApart: 1 - coverage.precision,
    /** Share of sampled chunks without a sampled query in their neighborhood. */
    chunksUnqueried: 1 - coverage.coverage,
  };
}

function withDirection(vectors: Matrix): { readonly matrix: Matrix; readonly rows: readonly number[] } {
  const { directedRows: rows } = normaliseRows(vectors);
  return { matrix: selectRows(vectors, rows), rows };
}

function head(vectors: Matrix): Matrix {
  const rows = Math.min(vectors.rows, MAX_PAIRED);
  return { ...vectors, rows, data: vectors.data.subarray(0, rows * vectors.columns) };
}

/**
 * Precision and coverage (Naeem et al. 2020) of y (the compared sample) with respect to x (the sample to be covered).
 * Each row of x has a ball whose radius is the distance to its k-th neighbor in x; rows on the surface of a ball are
 * outside it. If a row has fewer than k neighbors in x, the radius is the distance to the farthest neighbor.
 *
 * @param k >= 1
 * @throws RangeError if a sample has fewer than two rows
 */
export function manifoldCoverage(distances: PairTable, k: number) {
  const { n, m, values } = distances;
  if (n < 2 || m < 2) throw new RangeError('Coverage needs at least two rows in each sample.');
  const radii = squaredRadii(distances, k);
  const isInside = new Uint8Array(m);
  let covered = 0;
  for (let i = 0; i < n; i++) {
    const offset = pairOffset(n + m, i);
    let holdsY = false;
    for (let j = 0; j < m; j++) {
      if ((values[offset + n + j] ?? 0) < (radii[i] ?? 0)) {
        holdsY = true;
        isInside[j] = 1;
      }
    }
    if (holdsY) covered++;
  }
  return {
    /** Share of y inside at least one ball of x. */
    precision: isInside.reduce((sum, inside) => sum + inside, 0) / m,
    /** Share of the rows of x whose balls contain at least one row of y. */
    coverage: covered / n,
  };
}

/** Squared distance of each row of x to its k-th neighbor in x. */
function squaredRadii({ n, m, values }: PairTable, k: number): Float64Array {
  const radii = new Float64Array(n);
  const others = new Float64Array(n - 1);
  for (let row = 0; row < n; row++) {
    let filled = 0;
    for (let other = 0; other < n; other++) {
      if (other === row) continue;
      const place = pairOffset(n + m, Math.min(row, other)) + Math.max(row, other);
      others[filled++] = values[place] ?? 0;
    }
    radii[row] = others.toSorted()[Math.min(k, others.length) - 1] ?? 0;
  }
  return radii;
}
