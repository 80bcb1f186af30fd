/** What every row must be, whatever the format of its file. */
import { lengthOf, type Matrix, rowOf } from '../../../core/vector/matrix.ts';

/** 4 GiB of float32. */
export const MOST_NUMBERS: number = 2 ** 30;

export interface BadRow {
  readonly row: number;
  readonly is: 'not_finite' | 'zero';
}

/** The first row, from `start` on, that has no direction: one with NaN or an infinity, or a zero vector. */
export function firstBadRow(matrix: Matrix, start: number): BadRow | null {
  for (let row = start; row < matrix.rows; row++) {
    const length = lengthOf(rowOf(matrix, row));
    if (length === 0) return { row, is: 'zero' };
    if (!Number.isFinite(length)) return { row, is: 'not_finite' };
  }
  return null;
}

/** Follows `has`, and names the way out. */
export function describeBadRow({ is }: BadRow): string {
  return is === 'zero'
    ? 'a zero vector, which has no direction; leave it out'
    : 'NaN, or a number too large for float32; leave it out';
}
