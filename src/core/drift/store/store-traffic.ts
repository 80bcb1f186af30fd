/**
 * A sample of the store compared with a sample of live queries: what is asked often, what never, and what is missing.
 */

import { nearestDirections } from '../../clustering/lloyd.ts';
import { type Matrix, normaliseRows, selectRows } from '../../vector/matrix.ts';
import { manifoldCoverage } from '../two-sample/manifold-coverage.ts';
import { pairDistances, unitVectors } from '../two-sample/pair-distances.ts';
import { shareDivergence } from '../two-sample/share-divergence.ts';

/** One cluster of the store with what is asked of it. */
export interface ClusterTraffic {
  readonly cluster: number;
  /** Of the store, 0..1. */
  readonly chunkShare: number;
  /** Of the traffic, 0..1, weighted. */
  readonly queryShare: number;
  /** Query share over chunk share: 1 when they are equal, 0 when nobody asks; null for a cluster without chunks. */
  readonly densityRatio: number | null;
}

export interface StoreTraffic {
  /** Most asked for its size first. */
  readonly clusters: readonly ClusterTraffic[];
  /**
   * Jensen-Shannon divergence of query shares and chunk shares, 0..1 bit. Queries and chunks always differ somewhat.
   */
  readonly divergenceBits: number;
  /** Share of the sampled queries that lie outside of the neighbourhood of every sampled chunk. */
  readonly queriesApart: number;
  /** Share of the sampled chunks in whose neighbourhood no sampled query lies. */
  readonly chunksUnasked: number;
}

/** Rows of each side that are compared pair by pair; the rest only counts in the shares. */
const MOST_PAIRED = 1000;
/** The neighbourhood of a row reaches to its fifth nearest row of the same side. */
const NEIGHBOURS = 5;

/**
 * Both samples are uniform. Vectors without a direction are left out.
 *
 * @param clusters directions of the store's clusters, with the share of chunks in each
 * @param weights inverse inclusion probabilities of the queries
 * @returns null with fewer than two vectors on a side, or vectors of two dimensions
 */
export function compareStoreWithTraffic(
  chunks: Matrix,
  { clusters, shares }: { readonly clusters: Matrix; readonly shares: Float64Array },
  queries: Matrix,
  weights: ArrayLike<number>,
): StoreTraffic | null {
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
    clusters: [...queryWeights.keys()]
      .map((cluster): ClusterTraffic => {
        const chunkShare = shares[cluster] ?? 0;
        const queryShare = (queryWeights[cluster] ?? 0) / total;
        return {
          cluster,
          chunkShare,
          queryShare,
          densityRatio: chunkShare === 0 ? null : queryShare / chunkShare,
        };
      })
      .toSorted((a, b) => (b.densityRatio ?? -1) - (a.densityRatio ?? -1) || a.cluster - b.cluster),
    divergenceBits: shareDivergence(queryWeights, shares).jensenShannonBits,
    queriesApart: 1 - coverage.precision,
    chunksUnasked: 1 - coverage.coverage,
  };
}

function withDirection(vectors: Matrix): { readonly matrix: Matrix; readonly rows: readonly number[] } {
  const { directedRows: rows } = normaliseRows(vectors);
  return { matrix: selectRows(vectors, rows), rows };
}

function head(vectors: Matrix): Matrix {
  const rows = Math.min(vectors.rows, MOST_PAIRED);
  return { ...vectors, rows, data: vectors.data.subarray(0, rows * vectors.columns) };
}
