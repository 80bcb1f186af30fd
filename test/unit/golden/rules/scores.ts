import * as fc from 'fast-check';
import type { ComparisonSettings } from '../../../../src/golden/rules/verdict.ts';

/** The settings of most tests. */
export const SETTINGS: ComparisonSettings = { alpha: 0.05, minEffect: 0.02 };

/** Scores of nDCG. */
export const score = fc.constantFrom(0, 0.1, 0.25, 1 / 3, 0.5, 0.63, 0.9, 1);

/** Scores of two runs for some queries. */
export const pairOfRuns = fc
  .array(fc.tuple(score, score), { minLength: 1, maxLength: 70 })
  .map((rows) => ({ baseline: rows.map(([before]) => before), candidate: rows.map(([, after]) => after) }));

/** `n` scores between 0.3 and 0.9 in a fixed pattern. */
export function pattern(n: number): number[] {
  return Array.from({ length: n }, (_, i) => 0.3 + ((i * 7) % 13) / 20);
}
