import { describe, expect, it } from 'vitest';
import { addShifts, NO_SHIFT, shiftOf } from '../../../../src/checks/rules/check-result.ts';

describe('the shift of a threshold', () => {
  it('is the sum of those of all rotations, check by check', () => {
    const shifts = addShifts([
      { a: { mean: -0.05, upper: -0.06 } },
      { a: { mean: 0.02, upper: 0.01 }, b: { mean: 0.5, upper: 0.5 } },
    ]);
    expect(shiftOf(shifts, 'a').mean).toBeCloseTo(-0.03, 12);
    expect(shiftOf(shifts, 'a').upper).toBeCloseTo(-0.05, 12);
    expect(shiftOf(shifts, 'b')).toEqual({ mean: 0.5, upper: 0.5 });
  });

  it('is none for a check that no rotation knew', () => {
    expect(shiftOf(addShifts([]), 'a')).toEqual(NO_SHIFT);
  });
});
