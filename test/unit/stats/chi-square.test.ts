import { describe, expect, it } from 'vitest';
import { chiSquareQuantile, chiSquareTail } from '../../../src/stats/chi-square.ts';

describe('chi-square tail, as SciPy', () => {
  it.each([
    [0.5, 1, 0.47950012218695337],
    [3.84, 1, 0.05004352124870519],
    [20, 1, 7.744216431044088e-6],
    [1, 2, 0.6065306597126334],
    [11.07, 5, 0.050009618622405425],
    [133.6, 31, 1.065697302302912e-14],
    [500, 400, 0.00048221275959343273],
    [1600, 1000, 1.7420398244388335e-30],
    [1000, 1001, 0.5029742172681295],
  ])('P(X > %d) with df %d', (value, df, p) => {
    expect(Math.abs(chiSquareTail(value, df) / p - 1)).toBeLessThan(1e-11);
  });

  it('is certain at 0', () => {
    expect(chiSquareTail(0, 1)).toBe(1);
    expect(chiSquareTail(0, 4)).toBe(1);
  });
});

describe('chi-square quantile, as SciPy', () => {
  it.each([
    [0.05, 1, 0.003932140000019522],
    [0.05, 9, 3.325112843066815],
    [0.5, 4, 3.3566939800333224],
    [0.975, 8, 17.534546139484647],
  ])('of %d with df %d', (p, df, value) => {
    expect(Math.abs(chiSquareQuantile(p, df) / value - 1)).toBeLessThan(1e-9);
  });
});
