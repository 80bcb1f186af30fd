import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mcnemarExact } from '../../../src/stats/mcnemar.ts';
import { newcombeInterval, newcombePairedInterval } from '../../../src/stats/newcombe.ts';

const count = fc.nat(60);
const hits = fc
  .record({ both: count, onlyBaseline: count, onlyCandidate: count, neither: count })
  .filter((counts) => counts.both + counts.onlyBaseline + counts.onlyCandidate + counts.neither > 0);

describe('newcombePairedInterval', () => {
  it('encloses the difference within [-1, 1], and mirrors when the runs are exchanged', () => {
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

  it('takes runs for uncorrelated when one of them always hits', () => {
    const always = { both: 8, onlyBaseline: 2, onlyCandidate: 0, neither: 0 };
    expect(newcombePairedInterval(always, 0.95)).toEqual(newcombeInterval(8, 10, 10, 10, 0.95));
  });

  it('of no queries is a bug of the caller', () => {
    const none = { both: 0, onlyBaseline: 0, onlyCandidate: 0, neither: 0 };
    expect(() => newcombePairedInterval(none, 0.95)).toThrow(RangeError);
  });
});

describe('mcnemarExact', () => {
  it('finds nothing when nothing changed, or as much one way as the other', () => {
    expect(mcnemarExact(0, 0)).toEqual({ p: 1, midP: 1, pDrop: 1 });
    expect(mcnemarExact(7, 7)).toMatchObject({ p: 1, midP: 1 });
  });

  it('has by one side half of both, and does not blame gains', () => {
    expect(mcnemarExact(10, 0).p).toBeCloseTo(2 / 2 ** 10, 14);
    expect(mcnemarExact(10, 0).pDrop).toBeCloseTo(1 / 2 ** 10, 14);
    expect(mcnemarExact(0, 10).pDrop).toBe(1);
  });
});
