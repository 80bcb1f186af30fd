/** Matrices of float32 vectors: access in float64, dot products, and cosines. */
/** Vectors as rows, stored consecutively in `data`, which has `rows * columns` numbers. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
}

/** @throws RangeError if the rows differ in length */
export function matrixOf(rows: readonly ArrayLike<number>[]): Matrix {
  const columns = rows[0]?.length ?? 0;
  const data = new Float32Array(rows.length * columns);
  for (const [index, row] of rows.entries()) {
    if (row.length !== columns) {
      throw new RangeError(`Row ${index} has ${row.length} numbers, but row 0 has ${columns}.`);
    }
    data.set(row, index * columns);
  }
  return { rows: rows.length, columns, data };
}

/** Returns one row without copying it. */
export function rowOf(matrix: Matrix, row: number): Float32Array {
  return matrix.data.subarray(row * matrix.columns, (row + 1) * matrix.columns);
}

/** Copies the given rows, in the given order. */
export function selectRows(matrix: Matrix, rows: ArrayLike<number>): Matrix {
  const data = new Float32Array(rows.length * matrix.columns);
  for (let i = 0; i < rows.length; i++) data.set(rowOf(matrix, rows[i] ?? 0), i * matrix.columns);
  return { rows: rows.length, columns: matrix.columns, data };
}

/** Copies the rows that the items refer to, in the order of the items. Each item must have a row. */
export function selectRowsOf(matrix: Matrix, items: readonly { readonly row: number | null }[]): Matrix {
  const rows = items.map(({ row }) => row ?? 0);
  return selectRows(matrix, rows);
}

/** Euclidean length of each row, in float64; NaN for a row with NaN, infinite for a row with an infinity. */
export function rowLengths(matrix: Matrix): Float64Array {
  return Float64Array.from({ length: matrix.rows }, (_, row) => lengthOf(rowOf(matrix, row)));
}

/** Euclidean length of a vector, in float64. */
export function lengthOf(vector: ArrayLike<number>): number {
  let squares = 0;
  for (let i = 0; i < vector.length; i++) {
    const value = vector[i] as number;
    squares += value * value;
  }
  return Math.sqrt(squares);
}

/** Divides each row by its length, and lists the rows whose length is finite and not 0. */
export function normaliseRows(matrix: Matrix) {
  const data = new Float32Array(matrix.data.length);
  const directedRows: number[] = [];
  for (const [row, length] of rowLengths(matrix).entries()) {
    if (length === 0 || !Number.isFinite(length)) continue;
    directedRows.push(row);
    data.set(
      rowOf(matrix, row).map((value) => value / length),
      row * matrix.columns,
    );
  }
  return {
    /** The rows divided by their lengths; a row that is zero or not finite becomes a zero vector. */
    matrix: { ...matrix, data },
    /** Rows that are not zero vectors and contain neither NaN nor infinity. */
    directedRows,
  };
}

/**
 * Mean of the rows, each divided by its length. Excludes zero and non-finite rows; the result is empty if no rows
 * remain.
 */
export function meanDirection(matrix: Matrix): Float64Array {
  const scales = inverseLengths(matrix);
  const directed = scales.reduce((count, scale) => count + (scale > 0 ? 1 : 0), 0);
  const mean = new Float64Array(directed === 0 ? 0 : matrix.columns);
  for (const [row, scale] of scales.entries()) {
    if (scale === 0) continue;
    for (let column = 0; column < mean.length; column++) {
      mean[column] = (mean[column] ?? 0) + ((matrix.data[row * matrix.columns + column] ?? 0) * scale) / directed;
    }
  }
  return mean;
}

/**
 * Returns 1 / length for each row; 0 for a row that is zero or not finite. The cosine of two rows is their dot product
 * times the inverse lengths of both rows.
 */
export function inverseOf(lengths: Float64Array): Float64Array {
  return lengths.map((length) => (length > 0 && length < Number.POSITIVE_INFINITY ? 1 / length : 0));
}

/** 1 / length of each row; 0 for a row that is zero or not finite. */
export function inverseLengths(matrix: Matrix): Float64Array {
  return inverseOf(rowLengths(matrix));
}

/** Returns the first of each group of bit-identical rows, in matrix order, so that copies of a chunk count as one. */
export function distinctRows(matrix: Matrix): Uint32Array {
  return groupEqualRows(matrix).distinct;
}

/** Groups bit-identical rows. */
export function groupEqualRows(matrix: Matrix) {
  const seen = new Map<number, number[]>();
  const distinct: number[] = [];
  const groupOf = new Uint32Array(matrix.rows);
  for (let row = 0; row < matrix.rows; row++) {
    const vector = rowOf(matrix, row);
    const hash = hashOf(new Uint32Array(vector.buffer, vector.byteOffset, vector.length));
    const sameHash = seen.get(hash) ?? [];
    let group = sameHash.find((known) => areEqual(rowOf(matrix, distinct[known] ?? 0), vector));
    if (group === undefined) {
      group = distinct.push(row) - 1;
      seen.set(hash, [...sameHash, group]);
    }
    groupOf[row] = group;
  }
  return {
    /** First row of each group, in matrix order. */
    distinct: Uint32Array.from(distinct),
    /** For each row, the position of its group in `distinct`. */
    groupOf,
  };
}

/** FNV-1a (Fowler, Noll and Vo) over 32-bit words. */
function hashOf(words: Uint32Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < words.length; i++) {
    hash = Math.imul(hash ^ (words[i] as number), 0x01000193);
    hash ^= hash >>> 15;
  }
  return hash;
}

function areEqual(a: Float32Array, b: Float32Array): boolean {
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

/** Sum of the products, in double precision. @throws RangeError if the vectors differ in length */
export function dotProduct(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) {
    throw new RangeError(`The vectors have ${a.length} and ${b.length} numbers; both must have the same length.`);
  }
  let sum = 0;
  for (let index = 0; index < a.length; index += 1) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}

/** Cosine of the angle between two vectors, -1 to 1; 0 if either is the zero vector, which has no direction. */
export function cosineSimilarity(a: Float32Array, b: Float32Array): number {
  const norms = Math.sqrt(dotProduct(a, a) * dotProduct(b, b));
  return norms === 0 ? 0 : clamp(dotProduct(a, b) / norms);
}

/**
 * Converts a cosine index's score to a cosine, clipped to [-1, 1]. Dot products and Euclidean distances do not
 * determine the angle unless every vector has norm 1. If the scores of an index are dot products or Euclidean
 * distances, compare the vectors instead.
 */
export function cosineOfScore(score: number, kind: 'cosine' | 'cosine_distance' | 'shifted_cosine'): number {
  switch (kind) {
    case 'cosine':
      return clamp(score);
    case 'cosine_distance':
      return clamp(1 - score);
    case 'shifted_cosine':
      return clamp(2 * score - 1);
  }
}

function clamp(cosine: number): number {
  return Math.min(1, Math.max(-1, cosine));
}

/**
 * All dot products of the rows in `a` with the rows in `b`, in float64: `out[i * bRows + j] = a_i . b_j`.
 *
 * Works on tiles of 2 x 4 rows, so that eight sums stay in registers. Using tiles is several times faster than
 * computing one pair at a time.
 *
 * @param columns length of every row; rows are stored consecutively in `a` and `b`
 */
export function dotProducts(
  a: Float64Array,
  aRows: number,
  b: Float64Array,
  bRows: number,
  columns: number,
  out: Float64Array,
): void {
  const aTiled = aRows - (aRows % 2);
  const bTiled = bRows - (bRows % 4);
  for (let j = 0; j < bTiled; j += 4) {
    for (let i = 0; i < aTiled; i += 2) tile(a, i, b, j, bRows, columns, out);
  }
  for (let i = 0; i < aRows; i++) {
    for (let j = i < aTiled ? bTiled : 0; j < bRows; j++) out[i * bRows + j] = rowProduct(a, i, b, j, columns);
  }
}

function tile(
  a: Float64Array,
  i: number,
  b: Float64Array,
  j: number,
  bRows: number,
  columns: number,
  out: Float64Array,
): void {
  const a1 = i * columns;
  const a2 = a1 + columns;
  const b1 = j * columns;
  const b2 = b1 + columns;
  const b3 = b2 + columns;
  const b4 = b3 + columns;
  let s11 = 0;
  let s12 = 0;
  let s13 = 0;
  let s14 = 0;
  let s21 = 0;
  let s22 = 0;
  let s23 = 0;
  let s24 = 0;
  for (let c = 0; c < columns; c++) {
    const x1 = a[a1 + c] as number;
    const x2 = a[a2 + c] as number;
    const y1 = b[b1 + c] as number;
    const y2 = b[b2 + c] as number;
    const y3 = b[b3 + c] as number;
    const y4 = b[b4 + c] as number;
    s11 += x1 * y1;
    s12 += x1 * y2;
    s13 += x1 * y3;
    s14 += x1 * y4;
    s21 += x2 * y1;
    s22 += x2 * y2;
    s23 += x2 * y3;
    s24 += x2 * y4;
  }
  const first = i * bRows + j;
  const second = first + bRows;
  out[first] = s11;
  out[first + 1] = s12;
  out[first + 2] = s13;
  out[first + 3] = s14;
  out[second] = s21;
  out[second + 1] = s22;
  out[second + 2] = s23;
  out[second + 3] = s24;
}

/** The dot product of row `i` in `a` and row `j` in `b`, in float64, summed from the first column to the last. */
export function rowProduct(
  a: Float32Array | Float64Array,
  i: number,
  b: Float32Array | Float64Array,
  j: number,
  columns: number,
): number {
  const aStart = i * columns;
  const bStart = j * columns;
  let sum = 0;
  for (let c = 0; c < columns; c++) sum += (a[aStart + c] as number) * (b[bStart + c] as number);
  return sum;
}
