import { describe, expect, it } from 'vitest';
import { firstWhere } from '../../../src/stats/bisection.ts';

describe('firstWhere', () => {
  it.each([
    [0, 10, 7, 7],
    [0, 10, 0, 0],
    [0, 10, 99, 10],
    [-5, 5, -3, -3],
    [4, 4, 0, 4],
  ])('finds in [%d, %d) the first that reaches %d', (from, to, least, found) => {
    expect(firstWhere(from, to, (k) => k >= least)).toBe(found);
  });
});
