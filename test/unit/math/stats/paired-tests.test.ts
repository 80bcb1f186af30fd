import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mcnemarExact, pairedT } from '../../../../src/math/stats/paired-tests.ts';

describe('pairedT', () => {
  it.each([
    ['one query that did not change', [0], 0],
    ['ten queries that did not change', new Float64Array(10), 9],
  ])('has p = 1 for %s', (_what, differences, df) => {
    expect(pairedT(differences)).toEqual({
      n: df + 1,
      mean: 0,
      standardDeviation: 0,
      df,
      t: 0,
      p: 1,
      pDrop: 1,
      pGain: 1,
    });
  });

  it('cannot detect a change of one query', () => {
    expect(pairedT([-0.5])).toMatchObject({ n: 1, df: 0, mean: -0.5, t: null, p: 1, pDrop: 1, pGain: 1 });
  });

  it.each([
    ['fell', -0.125, 0, 1],
    ['rose', 0.125, 1, 0],
  ])('has no t, and p-values at their limits, if all queries %s by the same amount', (_what, by, pDrop, pGain) => {
    expect(pairedT([by, by, by])).toMatchObject({ t: null, standardDeviation: 0, p: 0, pDrop, pGain });
  });

  it('treats a spread that is due to rounding as no spread', () => {
    const drops = [
      [0.7, 0.6],
      [0.8, 0.7],
      [0.4, 0.3],
    ].map(([before = 0, after = 0]) => after - before);
    expect(new Set(drops).size).toBeGreaterThan(1);
    expect(pairedT(drops)).toMatchObject({ t: null, standardDeviation: 0 });
  });

  it('returns no NaN, and is mirrored if the runs are swapped', () => {
    const differences = fc.array(fc.constantFrom(-1, -0.5, -1 / 3, 0, 0.2, 0.5, 1), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(differences, (given) => {
        const test = pairedT(given);
        const mirrored = pairedT(given.map((difference) => -difference));
        for (const p of [test.p, test.pDrop, test.pGain]) expect(p >= 0 && p <= 1).toBe(true);
        expect(mirrored.pDrop).toBeCloseTo(test.pGain, 12);
        expect(mirrored.p).toBeCloseTo(test.p, 12);
      }),
    );
  });

  it('throws an error without queries', () => {
    expect(() => pairedT([])).toThrow(RangeError);
  });
});

describe('mcnemarExact', () => {
  it('finds no difference if nothing changed, or if as many queries improved as worsened', () => {
    expect(mcnemarExact(0, 0)).toEqual({ p: 1, pDrop: 1 });
    expect(mcnemarExact(7, 7)).toMatchObject({ p: 1 });
  });

  it('has a one-sided p of half the two-sided p for losses, and of 1 for gains', () => {
    expect(mcnemarExact(10, 0).p).toBeCloseTo(2 / 2 ** 10, 14);
    expect(mcnemarExact(10, 0).pDrop).toBeCloseTo(1 / 2 ** 10, 14);
    expect(mcnemarExact(0, 10).pDrop).toBe(1);
  });
});
