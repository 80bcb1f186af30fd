import { type Matrix, rowOf } from './matrix.ts';

/**
 * The first of every group of equal rows, in the order of the matrix: copies of a chunk are one chunk. Rows are equal
 * when all their bits are.
 */
export function distinctRows(matrix: Matrix): Uint32Array {
  const seen = new Map<number, number[]>();
  const distinct: number[] = [];
  for (let row = 0; row < matrix.rows; row++) {
    const vector = rowOf(matrix, row);
    const bits = new Uint32Array(vector.buffer, vector.byteOffset, vector.length);
    const hash = hashOf(bits);
    const sameHash = seen.get(hash);
    if (sameHash === undefined) seen.set(hash, [row]);
    else if (sameHash.some((other) => areEqual(rowOf(matrix, other), vector))) continue;
    else sameHash.push(row);
    distinct.push(row);
  }
  return Uint32Array.from(distinct);
}

/** FNV-1a (Fowler, Noll and Vo) over words of 32 bits. */
function hashOf(words: Uint32Array): number {
  let hash = 0x811c9dc5;
  for (const word of words) {
    hash = Math.imul(hash ^ word, 0x01000193);
    hash ^= hash >>> 15;
  }
  return hash;
}

function areEqual(a: Float32Array, b: Float32Array): boolean {
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}
