import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  clopperPearsonInterval,
  newcombePairedInterval,
  rescaledInterval,
  wilsonInterval,
} from '../../../../src/math/stats/intervals.ts';

const trials = fc.integer({ min: 1, max: 100_000 });
const successes = fc.double({ min: 0, max: 1, noNaN: true });

describe('bounds rescaled to another confidence level', () => {
  it('equal the Wilson bounds at that level, although n is not passed', () => {
    fc.assert(
      fc.property(trials, successes, fc.integer({ min: 2, max: 1000 }), (n, part, family) => {
        const share = Math.round(n * part) / n;
        const wanted = 1 - 0.05 / family;
        const found = rescaledInterval(share, wilsonInterval(share, n, 0.95), 0.95, wanted);
        const expected = wilsonInterval(share, n, wanted);
        expect(found.low).toBeCloseTo(expected.low, 8);
        expect(found.high).toBeCloseTo(expected.high, 8);
      }),
    );
  });

  it('do not change at the same level', () => {
    const bounds = wilsonInterval(0.3, 50, 0.95);
    const found = rescaledInterval(0.3, bounds, 0.95, 0.95);
    expect(found.low).toBeCloseTo(bounds.low, 12);
    expect(found.high).toBeCloseTo(bounds.high, 12);
  });

  it('of a share without uncertainty stay a point', () => {
    expect(rescaledInterval(0, { low: 0, high: 0 }, 0.95, 0.99)).toEqual({ low: 0, high: 0 });
    expect(rescaledInterval(1, { low: 1, high: 1 }, 0.95, 0.99)).toEqual({ low: 1, high: 1 });
    const half = rescaledInterval(0.5, { low: 0.5, high: 0.5 }, 0.95, 0.99);
    expect(half).toEqual({ low: 0.5, high: 0.5 });
  });
});

const count = fc.nat(60);
const hits = fc
  .record({ both: count, onlyBaseline: count, onlyCandidate: count, neither: count })
  .filter((counts) => counts.both + counts.onlyBaseline + counts.onlyCandidate + counts.neither > 0);

describe('newcombePairedInterval', () => {
  it('encloses the difference within [-1, 1], and is mirrored if the runs are swapped', () => {
    fc.assert(
      fc.property(hits, (given) => {
        const { low, high } = newcombePairedInterval(given, 0.95);
        const n = given.both + given.onlyBaseline + given.onlyCandidate + given.neither;
        const difference = (given.onlyCandidate - given.onlyBaseline) / n;
        expect(low).toBeGreaterThanOrEqual(-1);
        expect(low).toBeLessThanOrEqual(difference + 1e-12);
        expect(high).toBeGreaterThanOrEqual(difference - 1e-12);
        expect(high).toBeLessThanOrEqual(1);
        const { onlyBaseline, onlyCandidate } = given;
        const mirrored = newcombePairedInterval(
          { ...given, onlyBaseline: onlyCandidate, onlyCandidate: onlyBaseline },
          0.95,
        );
        expect(mirrored.low).toBeCloseTo(-high, 12);
        expect(mirrored.high).toBeCloseTo(-low, 12);
      }),
    );
  });

  it('throws an error without queries', () => {
    const none = { both: 0, onlyBaseline: 0, onlyCandidate: 0, neither: 0 };
    expect(() => newcombePairedInterval(none, 0.95)).toThrow(RangeError);
  });
});

it('the Clopper-Pearson interval equals the exact interval of SciPy', () => {
  // The bounds are beta.ppf(0.025, k, n - k + 1) and beta.ppf(0.975, k + 1, n - k) of SciPy 1.17.
  for (const [k, n, low, high] of [
    [0, 200, 0, 0.01827534035513624],
    [1, 200, 0.00012658102786701825, 0.02754189845720562],
    [4, 200, 0.0054755658795564485, 0.05041360908989629],
    [20, 1000, 0.012258267972406329, 0.03072003268260911],
    [5, 4800, 0.0003383100965615034, 0.0024292143540984527],
    [200, 200, 0.9817246596448638, 1],
  ] as const) {
    const found = clopperPearsonInterval(k, n, 0.95);
    expect(Math.abs(found.low - low)).toBeLessThan(1e-9);
    expect(Math.abs(found.high - high)).toBeLessThan(1e-9);
  }
});
