import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pairDistances } from '../../../../src/density/rules/pair-distances.ts';
import { manifoldCoverage } from '../../../../src/density/rules/store-snapshot.ts';
import { near, referenceCases, reversed, rotated, rowsToMatrix, someRows } from './two-sample-reference.ts';

interface Input {
  readonly real: readonly (readonly number[])[];
  readonly fake: readonly (readonly number[])[];
  readonly scale: number;
  readonly k: number;
}

interface Expected {
  readonly radius_real_first5: readonly number[];
  readonly precision: number;
  readonly recall: number;
  readonly density: number;
  readonly coverage: number;
}

const coverageOf = (
  real: readonly (readonly number[])[],
  fake: readonly (readonly number[])[],
  k: number,
  scale = 1,
) => manifoldCoverage(pairDistances(rowsToMatrix(real, scale), rowsToMatrix(fake, scale)), k);

describe('precision, recall, density and coverage, as scikit-learn', () => {
  it.each(referenceCases<Input, Expected>('prdc'))('$name', ({ input, expected }) => {
    const result = coverageOf(input.real, input.fake, input.k, input.scale);
    expect({ ...result, radius_real_first5: Array.from(result.radii.subarray(0, 5)) }).toMatchObject(
      Object(near(expected)),
    );
  });
});

const distinctRows = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(9), fc.nat(9)), {
  minLength: 2,
  maxLength: 12,
  selector: String,
});

describe('precision, recall, density and coverage', () => {
  it('are shares, and 1 for a sample of distinct rows against itself', () => {
    fc.assert(
      fc.property(distinctRows, distinctRows, fc.integer({ min: 1, max: 4 }), (x, y, k) => {
        const { precision, recall, coverage, density } = coverageOf(x, y, k);
        for (const share of [precision, recall, coverage]) {
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(1);
        }
        expect(density).toBeGreaterThanOrEqual(0);
        expect(coverageOf(x, reversed(x), k)).toMatchObject({ precision: 1, recall: 1, coverage: 1 });
      }),
    );
  });

  it('exchange precision and recall when the samples are exchanged, and ignore the order of rows', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const { precision, recall, density, coverage } = coverageOf(x, y, 2);
        expect(coverageOf(y, x, 2)).toMatchObject({ precision: recall, recall: precision });
        const other = coverageOf(reversed(x), reversed(y), 2);
        expect(other).toMatchObject({ precision, recall, coverage });
        expect(other.density).toBeCloseTo(density, 12);
      }),
    );
  });

  it('keep the radii when all rows are rotated', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const turned = manifoldCoverage(pairDistances(rotated(rowsToMatrix(x)), rotated(rowsToMatrix(y))), 2);
        for (const [row, radius] of coverageOf(x, y, 2).radii.entries()) {
          expect(turned.radii[row]).toBeCloseTo(radius, 10);
        }
      }),
    );
  });

  it('leave nothing inside the ball of a row that has copies enough', () => {
    const copies = [[1], [1], [1]];
    expect(coverageOf(copies, [[1], [2]], 2)).toMatchObject({ precision: 0, density: 0, coverage: 0 });
  });

  it('take the farthest neighbour when there are fewer than k', () => {
    expect([...coverageOf([[0], [3]], [[1], [2]], 5).radii]).toEqual([3, 3]);
    expect(coverageOf([[0], [3]], [[1], [2]], 5).density).toBe(2);
  });

  it('need two rows in each sample', () => {
    expect(() => coverageOf([[1]], [[1], [2]], 1)).toThrow(RangeError);
  });
});
