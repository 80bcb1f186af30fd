/** Reference values from SciPy, scikit-learn and NumPy for two-sample statistics, and arbitrary samples. */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { unitVectors, type Vectors } from '../../../../src/density/rules/pair-distances.ts';
import type { Matrix } from '../../../../src/math/vector/matrix.ts';

export interface ReferenceCase<Input, Expected> {
  readonly name: string;
  readonly input: Input;
  readonly expected: Expected;
}

export function referenceCases<Input, Expected>(file: string): readonly ReferenceCase<Input, Expected>[] {
  const path = new URL(`../../../fixtures/conformance/drift/${file}.json`, import.meta.url);
  const content: { cases: readonly ReferenceCase<Input, Expected>[] } = JSON.parse(readFileSync(path, 'utf8'));
  return content.cases;
}

/** Two samples of scores, as in the reference files. */
export interface ScoreInput {
  readonly x: readonly number[];
  readonly y: readonly number[];
}

/** Two samples of vectors with integer elements, each of which must be divided by `scale`. */
export interface VectorInput {
  readonly x: readonly (readonly number[])[];
  readonly y: readonly (readonly number[])[];
  readonly scale: number;
  readonly normalize_rows?: boolean;
}

export function vectorsOf({ x, y, scale, normalize_rows }: VectorInput): { x: Vectors; y: Vectors } {
  const toVectors = (rows: readonly (readonly number[])[]): Vectors => {
    const matrix = rowsToMatrix(rows, scale);
    return normalize_rows === true ? unitVectors(matrix) : matrix;
  };
  return { x: toVectors(x), y: toVectors(y) };
}

export function rowsToMatrix(rows: readonly (readonly number[])[], scale = 1): Matrix {
  return {
    rows: rows.length,
    columns: rows[0]?.length ?? 0,
    data: Float32Array.from(rows.flat(), (value) => value / scale),
  };
}

/**
 * Returns a matcher in which each expected number, including numbers in objects and lists, matches values within 5e-10
 * of the number.
 */
export function near(expected: unknown): unknown {
  if (typeof expected === 'number') return expect.closeTo(expected, 9);
  if (Array.isArray(expected)) return expected.map(near);
  return Object.fromEntries(Object.entries(expected ?? {}).map(([key, value]) => [key, near(value)]));
}

/** Scores with many ties. */
export const aScoreSample = fc.array(
  fc.integer({ min: -40, max: 40 }).map((value) => value / 16),
  { minLength: 1, maxLength: 40 },
);

/** Rows of 3 numbers, with occasional duplicate rows; no row is a zero vector. */
export const someRows = fc.array(
  fc
    .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: -6, max: 6 }), fc.integer({ min: -6, max: 6 }))
    .map((row): readonly number[] => row),
  { minLength: 2, maxLength: 12 },
);

/** Rotates rows by 30 degrees in the plane of their first two columns, then swaps the last two. */
export function rotated({ rows, columns, data }: Vectors): Vectors {
  const turned = Float64Array.from(data);
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    const [a = 0, b = 0] = data.subarray(start, start + 2);
    const cosine = Math.sqrt(0.75);
    turned[start] = cosine * a - b / 2;
    const second = a / 2 + cosine * b;
    turned[start + 1] = turned[start + 2] ?? 0;
    turned[start + 2] = second;
  }
  return { rows, columns, data: turned };
}

/** The same rows in reverse order. */
export function reversed<T>(rows: readonly T[]): readonly T[] {
  return rows.toReversed();
}
