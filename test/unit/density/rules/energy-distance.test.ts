import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { energyDistance } from '../../../../src/density/rules/embedding-drift.ts';
import { pairDistances } from '../../../../src/density/rules/pair-distances.ts';
import { visitOrdered } from '../../../../src/density/rules/two-sample-statistics.ts';
import {
  aScoreSample,
  near,
  referenceCases,
  reversed,
  rotated,
  rowsToMatrix,
  type ScoreInput,
  someRows,
  type VectorInput,
  vectorsOf,
} from './two-sample-reference.ts';

/** Energy distance of two samples of scores in the root form, sqrt(2 integral (Fx(t) - Fy(t))^2 dt): the oracle. */
function energyDistanceOfScores(x: ArrayLike<number>, y: ArrayLike<number>): number {
  let integral = 0;
  let last = 0;
  let gap = 0;
  visitOrdered(x, y, (value, atOrBelowX, atOrBelowY) => {
    if (gap !== 0) integral += gap * gap * (value - last);
    gap = atOrBelowX / x.length - atOrBelowY / y.length;
    last = value;
  });
  return Math.sqrt(2 * integral);
}

type Expected = Readonly<Record<'energy_1d_sqrt' | 'energy_V' | 'energy_U', number>>;

const cases = referenceCases<ScoreInput | VectorInput, Expected>('energy_distance');

const isVectors = (input: ScoreInput | VectorInput): input is VectorInput => 'scale' in input;

describe('energy distance, as SciPy', () => {
  it.each(cases)('$name', ({ input, expected }) => {
    if (!isVectors(input)) {
      expect(energyDistanceOfScores(input.x, input.y)).toEqual(near(expected.energy_1d_sqrt));
      return;
    }
    const { x, y } = vectorsOf(input);
    expect(energyDistance(pairDistances(x, y))).toEqual(near({ v: expected.energy_V, u: expected.energy_U }));
  });
});

const energyOf = (x: readonly (readonly number[])[], y: readonly (readonly number[])[]) =>
  energyDistance(pairDistances(rowsToMatrix(x), rowsToMatrix(y)));

describe('energy distance', () => {
  it('is 0 in the V form for equal samples and never below', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        expect(energyOf(x, reversed(x)).v).toBeCloseTo(0, 12);
        expect(energyOf(x, y).v).toBeGreaterThanOrEqual(-1e-12);
      }),
    );
  });

  it('is symmetric and depends neither on the order of the rows nor on a rotation', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const { u } = energyOf(x, y);
        expect(energyOf(y, x).u).toBeCloseTo(u, 12);
        expect(energyOf(reversed(x), reversed(y)).u).toBeCloseTo(u, 12);
        const turned = pairDistances(rotated(rowsToMatrix(x)), rotated(rowsToMatrix(y)));
        expect(energyDistance(turned).u).toBeCloseTo(u, 10);
      }),
    );
  });

  it('keeps its V form when every row is doubled', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        expect(energyOf([...x, ...x], [...y, ...y]).v).toBeCloseTo(energyOf(x, y).v, 12);
      }),
    );
  });

  it('is the square of the root form for vectors of one number', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const one = (values: readonly number[]) => [...values, ...values].map((value) => [value]);
        expect(energyOf(one(x), one(y)).v).toBeCloseTo(energyDistanceOfScores(x, y) ** 2, 10);
      }),
    );
  });

  it('needs two rows in each sample', () => {
    expect(() => energyOf([[1]], [[1], [2]])).toThrow(RangeError);
  });
});
