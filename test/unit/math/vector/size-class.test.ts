import { array, assert, double, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sizeClass, steadySizeClass } from '../../../../src/math/vector/size-class.ts';

describe('the size class of a store', () => {
  it('is its order of magnitude in powers of 4', () => {
    expect([0, 1, 3, 4, 15, 16, 63, 64, 20_000, 1_048_575, 1_048_576].map(sizeClass)).toEqual([
      'empty',
      '0',
      '0',
      '1',
      '1',
      '2',
      '2',
      '3',
      '7',
      '9',
      '10',
    ]);
  });

  it('is the exponent of the largest power of 4 that fits', () => {
    assert(
      property(integer({ min: 1, max: 2 ** 40 }), (count) => {
        const exponent = Number(sizeClass(count));
        expect(4 ** exponent).toBeLessThanOrEqual(count);
        expect(4 ** (exponent + 1)).toBeGreaterThan(count);
      }),
    );
  });
});

describe('the size class of a store that was seen before', () => {
  it.each([
    [1250, '4', '4'],
    [1281, '4', '5'],
    [780, '5', '5'],
    [767, '5', '4'],
    [1100, '3', '5'],
    [1030, 'empty', '5'],
    [1, 'empty', '0'],
    [0, '0', 'empty'],
    [1030, undefined, '5'],
  ])('for %d vectors after the class %s is %s', (count, previous, expected) => {
    expect(steadySizeClass(count, previous)).toBe(expected);
  });

  it('does not change while the count varies by less than a quarter around any boundary', () => {
    assert(
      property(
        integer({ min: 2, max: 15 }),
        array(double({ min: 0.76, max: 1.24, noNaN: true }), { minLength: 2 }),
        (exponent, swings) => {
          const counts = swings.map((swing) => Math.round(4 ** exponent * swing));
          const first = sizeClass(counts[0] ?? 1);
          const last = counts.reduce((known, count) => steadySizeClass(count, known), first);
          expect(last).toBe(first);
        },
      ),
    );
  });
});
