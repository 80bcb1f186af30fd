/** Exact search for the most similar rows in a store, needed because some stores cannot return comparable scores. */
import { cosineBlocks } from './cosine-kernel.ts';
import { inverseLengths, type Matrix, rowProduct } from './matrix.ts';

export interface RankedSimilarity {
  readonly id: string;
  /** Cosine similarity, -1 to 1. */
  readonly similarity: number;
}

/**
 * Tolerance within which similarities count as equal, because equally near neighbors are interchangeable. The tolerance
 * is larger than float32 rounding errors.
 */
const TIE = 1e-6;

/**
 * Share of the exact neighbors that the approximate result contains, 0..1. A neighbor that is as near as the last exact
 * neighbor counts as found, whatever its id, because the choice among equally near neighbors is arbitrary (the rule of
 * the ann-benchmarks project, Aumüller et al. 2020). Returns null if there are no exact neighbors.
 */
export function neighbourRecall(
  approximate: readonly RankedSimilarity[],
  exact: readonly RankedSimilarity[],
): number | null {
  if (exact.length === 0) return null;
  const furthest = Math.min(...exact.map(({ similarity }) => similarity));
  const ids = new Set(exact.map(({ id }) => id));
  const found = approximate.filter(({ id, similarity }) => ids.has(id) || similarity >= furthest - TIE);
  return Math.min(found.length, exact.length) / exact.length;
}

export interface Neighbours {
  /** Number of neighbors per query: k, or the size of the store if it is smaller. */
  readonly k: number;
  /** Rows of the store, `k` per query, most similar first; equally similar rows in store order. */
  readonly indices: Uint32Array;
  /** Cosines, in the order of `indices`. */
  readonly similarities: Float64Array;
}

/** Number of queries that are compared with the store in one pass over it. */
const QUERY_PANEL = 2048;
/**
 * Number of queries in a block. A block of queries and a block of store rows fit into the second-level cache together
 * with their cosines.
 */
const QUERY_BLOCK = 32;
const STORE_BLOCK = 96;

/** Cosines that agree to 13 decimals count as equal, because further digits are rounding errors. */
const TIE_SCALE = 1e13;

/**
 * Finds the k rows in the store with the largest cosine to each query. Uses float32 rows of any norm and float64 sums.
 * A row that is zero or not finite has cosine 0 with every row.
 *
 * All pairs are first compared in float32. The pairs that may be among the best are then compared in float64, so the
 * result equals that of a comparison entirely in float64. Takes 2 * queries * store * columns floating-point
 * operations. In addition to the result, the search allocates memory for 2,048 queries in float32 and for a few blocks.
 *
 * @throws RangeError if the vectors differ in dimension
 */
export function nearestNeighbours(store: Matrix, queries: Matrix, k: number): Neighbours {
  if (store.rows > 0 && queries.rows > 0 && store.columns !== queries.columns) {
    throw new RangeError(
      `The store has ${store.columns} dimensions and the queries have ${queries.columns}; both must come from the same embedding model.`,
    );
  }
  const found = Math.min(k, store.rows);
  const indices = new Uint32Array(queries.rows * found);
  const similarities = new Float64Array(queries.rows * found).fill(Number.NEGATIVE_INFINITY);
  const result = { k: found, indices, similarities };
  if (found === 0) return result;
  const search = { store, queries, storeScales: inverseLengths(store), queryScales: inverseLengths(queries) };
  const blocks = cosineBlocks(queries.columns, Math.min(QUERY_PANEL, queries.rows), STORE_BLOCK);
  for (let panel = 0; panel < queries.rows; panel += QUERY_PANEL) {
    const panelEnd = Math.min(panel + QUERY_PANEL, queries.rows);
    blocks.setLeft(queries, panel, panelEnd, search.queryScales);
    for (let first = 0; first < store.rows; first += STORE_BLOCK) {
      const end = Math.min(first + STORE_BLOCK, store.rows);
      blocks.setRight(store, first, end, search.storeScales);
      for (let from = panel; from < panelEnd; from += QUERY_BLOCK) {
        const to = Math.min(from + QUERY_BLOCK, panelEnd);
        const cosines = blocks.cosines(from - panel, to - panel);
        for (let query = from; query < to; query++) {
          const queryCosines = cosines.subarray((query - from) * blocks.stride);
          keepBest(search, query, queryCosines, first, end, blocks.tolerance, result);
        }
      }
    }
  }
  return result;
}

/** Mean similarity of each query's neighbors; if the store is empty, every query has the score -1. */
export function meanSimilarities({ k, similarities }: Neighbours, queries: number): Float64Array {
  return Float64Array.from({ length: queries }, (_, query) => {
    if (k === 0) return -1;
    let sum = 0;
    for (let i = 0; i < k; i++) sum += similarities[query * k + i] ?? 0;
    return sum / k;
  });
}

interface Search {
  readonly store: Matrix;
  readonly queries: Matrix;
  /** 1 / length of each row; 0 for a row that is zero or not finite. */
  readonly storeScales: Float64Array;
  readonly queryScales: Float64Array;
}

/**
 * Merges the store rows [first, end) into the sorted best rows for one query. `cosines` begins with the approximate
 * cosines of these store rows.
 */
function keepBest(
  search: Search,
  query: number,
  cosines: Float32Array,
  first: number,
  end: number,
  tolerance: number,
  { k, indices, similarities }: Neighbours,
): void {
  const best = query * k;
  const last = best + k - 1;
  let worst = similarities[last] as number;
  for (let row = first; row < end; row++) {
    if ((cosines[row - first] as number) < worst - tolerance) continue;
    const cosine = cosineOf(search, query, row);
    const key = tieKey(cosine);
    // Rows are visited in store order, so if two rows are equally similar, the earlier row is kept.
    if (key <= tieKey(worst)) continue;
    let place = last;
    while (place > best && tieKey(similarities[place - 1] as number) < key) {
      similarities[place] = similarities[place - 1] as number;
      indices[place] = indices[place - 1] as number;
      place--;
    }
    similarities[place] = cosine;
    indices[place] = row;
    worst = similarities[last] as number;
  }
}

function cosineOf({ store, queries, storeScales, queryScales }: Search, query: number, row: number): number {
  const scale = (queryScales[query] as number) * (storeScales[row] as number);
  return scale === 0 ? 0 : rowProduct(queries.data, query, store.data, row, store.columns) * scale;
}

function tieKey(cosine: number): number {
  return Math.round(cosine * TIE_SCALE);
}
