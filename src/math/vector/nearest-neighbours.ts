/** Exact search for the most similar rows in a store, for cases in which the store cannot return comparable scores. */
import { cosineBlocks } from './cosine-kernel.ts';
import { inverseLengths, type Matrix, rowProduct } from './matrix.ts';

export interface RankedSimilarity {
  readonly id: string;
  /** Cosine similarity, -1 to 1. */
  readonly similarity: number;
}

/**
 * Tolerance within which similarities count as equal, larger than float32 rounding errors. Equally near neighbors are
 * interchangeable.
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

/** Number of store rows that one pass over the queries compares with the queries. */
const STORE_PANEL = 2048;
/** Number of queries in a block, which fits into the second-level cache together with a few store rows. */
const QUERY_BLOCK = 96;

/** Cosines that agree to 13 decimals count as equal, because further digits are rounding errors. */
const TIE_SCALE = 1e13;

/** Rows [first, end) of a store. */
export interface RowRange {
  readonly first: number;
  readonly end: number;
}

/**
 * Finds the k rows in the store with the largest cosine to each query. Uses float32 rows of any norm and float64 sums.
 * A row that is zero or not finite has cosine 0 with every row.
 *
 * First compares all pairs in 16-bit integers, and then, in float64, the pairs that may be among the best. The result
 * equals that of a comparison entirely in float64. Takes 2 * queries * store * columns operations. In addition to the
 * result, the search allocates memory for 2,048 store rows and 96 queries in 16-bit integers, and for their cosines.
 *
 * @throws RangeError if the vectors differ in dimension
 */
export function nearestNeighbours(store: Matrix, queries: Matrix, k: number): Neighbours {
  const [found] = nearestInRanges(store, queries, k, [{ first: 0, end: store.rows }]);
  return found as Neighbours;
}

/**
 * Searches several ranges of store rows, like `nearestNeighbours`. Compares a row with the queries only once, even if
 * several ranges contain it.
 */
export function nearestInRanges(
  store: Matrix,
  queries: Matrix,
  k: number,
  ranges: readonly RowRange[],
): readonly Neighbours[] {
  if (store.rows > 0 && queries.rows > 0 && store.columns !== queries.columns) {
    throw new RangeError(
      `The store has ${store.columns} dimensions and the queries have ${queries.columns}; both must come from the same embedding model.`,
    );
  }
  const results = ranges.map((range) => {
    const found = Math.min(k, range.end - range.first);
    const similarities = new Float64Array(queries.rows * found).fill(Number.NEGATIVE_INFINITY);
    return { range, k: found, indices: new Uint32Array(queries.rows * found), similarities };
  });
  if (k === 0) return results;
  const search = { store, queries, storeScales: inverseLengths(store), queryScales: inverseLengths(queries) };
  const blocks = cosineBlocks(queries.columns, Math.min(STORE_PANEL, store.rows), Math.min(QUERY_BLOCK, queries.rows));
  for (let first = 0; first < store.rows; first += STORE_PANEL) {
    const end = Math.min(first + STORE_PANEL, store.rows);
    blocks.setLeft(store, first, end, search.storeScales);
    for (let from = 0; from < queries.rows; from += QUERY_BLOCK) {
      const to = Math.min(from + QUERY_BLOCK, queries.rows);
      blocks.setRight(queries, from, to, search.queryScales);
      const cosines = blocks.cosines();
      const tolerance = blocks.tolerance();
      for (let query = from; query < to; query++) {
        const queryCosines = cosines.subarray((query - from) * blocks.stride);
        keepBest(search, query, queryCosines, { first, end }, tolerance, results);
      }
    }
  }
  return results;
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

/** The best rows of a range of the store. */
interface RangeResult extends Neighbours {
  readonly range: RowRange;
}

/**
 * Merges the store rows [first, end) into the sorted best rows for one query. `cosines` begins with the approximate
 * cosines of these store rows.
 */
function keepBest(
  search: Search,
  query: number,
  cosines: Float32Array,
  { first, end }: RowRange,
  tolerance: number,
  results: readonly RangeResult[],
): void {
  const limits = results.map(({ range, k, similarities }) => {
    const from = Math.max(first, range.first);
    const to = Math.min(end, range.end);
    if (from >= to) return Number.POSITIVE_INFINITY;
    // At least k rows are this similar, so a row that is certainly less similar cannot be among the best.
    const kth = kthLargest(cosines.subarray(from - first, to - first), k) - tolerance;
    return Math.max(kth, similarities[query * k + k - 1] as number) - tolerance;
  });
  const limit = Math.min(...limits);
  for (let row = first; row < end; row++) {
    const approximate = cosines[row - first] as number;
    if (approximate < limit) continue;
    let cosine: number | undefined;
    for (const [i, result] of results.entries()) {
      const { range } = result;
      if (approximate < (limits[i] as number) || row < range.first || row >= range.end) continue;
      cosine ??= cosineOf(search, query, row);
      insert(result, query, row, cosine);
    }
  }
}

/** Adds a row to the best rows of a query if the row is more similar to the query than the last of them. */
function insert({ k, indices, similarities }: Neighbours, query: number, row: number, cosine: number): void {
  const best = query * k;
  const key = tieKey(cosine);
  let place = best + k - 1;
  // Rows are visited in store order, so if two rows are equally similar, the earlier row is kept.
  if (key <= tieKey(similarities[place] as number)) return;
  for (; place > best && tieKey(similarities[place - 1] as number) < key; place--) {
    similarities[place] = similarities[place - 1] as number;
    indices[place] = indices[place - 1] as number;
  }
  similarities[place] = cosine;
  indices[place] = row;
}

/** The k-th largest value; -Infinity if there are fewer. */
function kthLargest(values: Float32Array, k: number): number {
  const largest = new Float32Array(k).fill(Number.NEGATIVE_INFINITY);
  let least = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (value <= least) continue;
    let place = k - 1;
    for (; place > 0 && (largest[place - 1] as number) < value; place--) largest[place] = largest[place - 1] as number;
    largest[place] = value;
    least = largest[k - 1] as number;
  }
  return least;
}

function cosineOf({ store, queries, storeScales, queryScales }: Search, query: number, row: number): number {
  const scale = (queryScales[query] as number) * (storeScales[row] as number);
  return scale === 0 ? 0 : rowProduct(queries.data, query, store.data, row, store.columns) * scale;
}

function tieKey(cosine: number): number {
  return Math.round(cosine * TIE_SCALE);
}
