import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maximumMeanDiscrepancy } from '../../../../../src/core/drift/two-sample/mmd.ts';
import { pairDistances } from '../../../../../src/core/drift/two-sample/pair-distances.ts';
import {
  drawFrequencies,
  fourierDiscrepancy,
  fourierFeatures,
} from '../../../../../src/core/drift/two-sample/random-fourier-features.ts';
import { moments } from '../../../../../src/core/stats/moments.ts';
import {
  near,
  referenceCases,
  reversed,
  rowsToMatrix,
  someRows,
  type VectorInput,
  vectorsOf,
} from './two-sample-reference.ts';

const cases = referenceCases<
  VectorInput & { readonly omega: readonly (readonly number[])[] },
  { readonly features_x_row0: readonly number[]; readonly mmd2_rff_biased: number }
>('mmd2_rff');

describe('random Fourier features, as NumPy', () => {
  it.each(cases)('$name', ({ input, expected }) => {
    const { x, y } = vectorsOf(input);
    const frequencies = rowsToMatrix(input.omega, input.scale);
    expect([...fourierFeatures(x, 0, frequencies)]).toEqual(near(expected.features_x_row0));
    expect(fourierDiscrepancy(x, y, frequencies)).toEqual(near(expected.mmd2_rff_biased));
  });
});

describe('random Fourier features', () => {
  const frequencies = drawFrequencies(64, 3, 0.05, 1);

  it('find nothing between equal samples, and the same in either direction', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const forth = fourierDiscrepancy(rowsToMatrix(x), rowsToMatrix(y), frequencies);
        expect(fourierDiscrepancy(rowsToMatrix(y), rowsToMatrix(x), frequencies)).toBeCloseTo(forth, 12);
        expect(fourierDiscrepancy(rowsToMatrix(x), rowsToMatrix(reversed(x)), frequencies)).toBeCloseTo(
          0,
          12,
        );
      }),
    );
  });

  it('approach the exact discrepancy with many frequencies', () => {
    const x = rowsToMatrix(Array.from({ length: 20 }, (_, i) => [Math.cos(i), Math.sin(i), 0]));
    const y = rowsToMatrix(Array.from({ length: 30 }, (_, i) => [1 + Math.cos(i), Math.sin(i), 0.5]));
    const exact = maximumMeanDiscrepancy(pairDistances(x, y), 0.7).biased;
    expect(fourierDiscrepancy(x, y, drawFrequencies(20_000, 3, 0.7, 1))).toBeCloseTo(exact, 2);
  });

  it('are drawn from the normal distribution with variance 2 gamma, the same for the same seed', () => {
    const { rows, columns, data } = drawFrequencies(5001, 3, 2, 1);
    expect([rows, columns, data.length]).toEqual([5001, 3, 15_003]);
    const { mean, standardDeviation } = moments(data);
    expect(Math.abs(mean)).toBeLessThan(0.08);
    expect(Math.abs(standardDeviation ** 2 - 4)).toBeLessThan(0.25);
    expect(drawFrequencies(5001, 3, 2, 1).data).toEqual(data);
    expect(drawFrequencies(5001, 3, 2, 2).data).not.toEqual(data);
  });

  it('need a row in each sample', () => {
    expect(() => fourierDiscrepancy(rowsToMatrix([]), rowsToMatrix([[1, 2, 3]]), frequencies)).toThrow(
      RangeError,
    );
  });
});
