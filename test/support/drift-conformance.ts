/** Reference values from numpy, scipy and scikit-learn for the drift statistics. */
import { readFileSync } from 'node:fs';
import { matrixOf } from '../../src/math/vector/matrix.ts';

interface ConformanceCase<Input, Expected> {
  readonly name: string;
  readonly input: Input;
  readonly expected: Expected;
}

/** Returns the cases from a file in `test/fixtures/conformance/drift`; the file names its formula and its tool. */
export function driftCases<Input, Expected>(file: string): readonly ConformanceCase<Input, Expected>[] {
  const path = new URL(`../fixtures/conformance/drift/${file}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')).cases;
}

/** Rows of whole numbers, which must be divided by the scale of their case. */
export type ScaledVectors = readonly (readonly number[])[];

export const scaledMatrix = (rows: ScaledVectors, scale: number) =>
  matrixOf(rows.map((row) => row.map((value) => value / scale)));
export const scaledNumbers = (rows: ScaledVectors, scale: number) => rows.flat().map((value) => value / scale);

/** Differences above 1e-9 * max(1, |expected|), each with its position. */
export function differences(actual: ArrayLike<number>, expected: ArrayLike<number>): string[] {
  const places = Array.from({ length: Math.max(actual.length, expected.length) }, (_, i) => i);
  return places
    .filter((i) => {
      const want = expected[i] ?? Number.NaN;
      const error = Math.abs((actual[i] ?? Number.NaN) - want);
      return !(error <= 1e-9 * Math.max(1, Math.abs(want)));
    })
    .map((i) => `at ${i}: ${actual[i]} instead of ${expected[i]}`);
}
