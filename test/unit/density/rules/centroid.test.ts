import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { centroidShift } from '../../../../src/density/rules/embedding-drift.ts';
import {
  near,
  referenceCases,
  reversed,
  rotated,
  rowsToMatrix,
  someRows,
  type VectorInput,
  vectorsOf,
} from './two-sample-reference.ts';

describe('centroids, as NumPy', () => {
  it.each(referenceCases<VectorInput, Readonly<Record<string, number>>>('centroid'))(
    '$name',
    ({ input, expected }) => {
      const { x, y } = vectorsOf(input);
      const shift = centroidShift(x, y);
      expect({
        euclidean: shift.distance,
        cosine_distance: shift.cosineDistance,
        norm_x: shift.resultantLengthX,
        norm_y: shift.resultantLengthY,
      }).toMatchObject(Object(near(expected)));
    },
  );
});

describe('centroids', () => {
  it('do not move for equal samples, copies of them, or another order', () => {
    fc.assert(
      fc.property(someRows, (x) => {
        const shift = centroidShift(rowsToMatrix(x), rowsToMatrix(reversed([...x, ...x])));
        expect(shift.distance).toBeCloseTo(0, 12);
        expect(shift.cosineDistance).toBeCloseTo(0, 12);
        expect(shift.resultantLengthX).toBeCloseTo(shift.resultantLengthY, 12);
      }),
    );
  });

  it('move as far in either direction and under any rotation', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const shift = centroidShift(rowsToMatrix(x), rowsToMatrix(y));
        const back = centroidShift(rowsToMatrix(y), rowsToMatrix(x));
        const turned = centroidShift(rotated(rowsToMatrix(x)), rotated(rowsToMatrix(y)));
        expect(back.distance).toBeCloseTo(shift.distance, 12);
        expect(back.resultantLengthX).toBeCloseTo(shift.resultantLengthY, 12);
        expect(turned.distance).toBeCloseTo(shift.distance, 12);
        expect(turned.cosineDistance).toBeCloseTo(shift.cosineDistance, 12);
      }),
    );
  });

  it('without a direction are at cosine distance 1 from everything', () => {
    const opposite = rowsToMatrix([
      [1, 0],
      [-1, 0],
    ]);
    expect(centroidShift(opposite, rowsToMatrix([[1, 0]]))).toEqual({
      distance: 1,
      cosineDistance: 1,
      resultantLengthX: 0,
      resultantLengthY: 1,
    });
  });

  it('need rows of one length', () => {
    expect(() => centroidShift(rowsToMatrix([[1]]), rowsToMatrix([[1, 0]]))).toThrow(RangeError);
    expect(() => centroidShift(rowsToMatrix([]), rowsToMatrix([]))).toThrow(RangeError);
  });
});
