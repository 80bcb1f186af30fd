import { array, assert, date, double, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thinned } from '../../../../src/report/console/charts/trend-geometry.ts';

const [from, until] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-04-01T00:00:00Z')];

function points(values: readonly { readonly at: Date; readonly value: number }[]) {
  return values.map((one) => ({ ...one, low: null, high: null })).toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

describe('thinned', () => {
  it('keeps all points of a short series', () => {
    const few = points([
      { at: from, value: 1 },
      { at: until, value: 2 },
    ]);
    expect(thinned(few, from, until)).toBe(few);
  });

  it('keeps at most 160 points in order, including the minimum and the maximum', () => {
    const point = record({
      at: date({ min: from, max: until, noInvalidDate: true }),
      value: double({ min: 0, max: 1, noNaN: true }),
    });
    assert(
      property(array(point, { minLength: 161, maxLength: 1000 }), (measured) => {
        const all = points(measured);
        const shown = thinned(all, from, until);
        const values = shown.map(({ value }) => value);
        expect(shown.length).toBeLessThanOrEqual(160);
        expect(Math.min(...values)).toBe(Math.min(...all.map(({ value }) => value)));
        expect(Math.max(...values)).toBe(Math.max(...all.map(({ value }) => value)));
        expect(shown).toEqual(shown.toSorted((a, b) => a.at.getTime() - b.at.getTime()));
      }),
    );
  });
});
