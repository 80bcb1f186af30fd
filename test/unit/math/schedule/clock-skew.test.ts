import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockSkew, clockTrouble, isClockRight } from '../../../../src/math/schedule/clock-skew.ts';

describe('the skew of a clock', () => {
  it('is measured from the middle of the round trip, with half the round trip as the margin', () => {
    expect(clockSkew({ sentAtMs: 10_000, tookMs: 4000, otherMs: 12_000 })).toEqual({
      seconds: 0,
      marginSeconds: 2,
    });
    expect(clockSkew({ sentAtMs: 7_212_000, tookMs: 100, otherMs: 12_050 })).toEqual({
      seconds: 7200,
      marginSeconds: 0.05,
    });
  });

  it('is never further from the truth than its margin, whenever the other clock was read during the round trip', () => {
    const ms = fc.integer({ min: -10_000_000, max: 10_000_000 });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(ms, fc.integer({ min: 0, max: 600_000 }), share, (aheadMs, tookMs, readAt) => {
        const sentAtMs = 1_800_000_000_000;
        const otherMs = sentAtMs - aheadMs + readAt * tookMs;
        const { seconds, marginSeconds } = clockSkew({ sentAtMs, tookMs, otherMs });
        expect(Math.abs(seconds - aheadMs / 1000)).toBeLessThanOrEqual(marginSeconds + 1e-3);
      }),
    );
  });
});

describe('a clock', () => {
  it.each([
    ['agrees', 0, 0.01, true],
    ['is a minute ahead', 60, 0, true],
    ['is more than a minute ahead', 60.1, 0.01, false],
    ['is more than a minute behind', -61, 0.5, false],
    ['is two hours ahead, in a round trip of two minutes', 7200, 60, false],
  ])('that %s is classified by this measurement, whatever the earlier result', (_, seconds, marginSeconds, isRight) => {
    for (const before of [true, false]) expect(isClockRight({ seconds, marginSeconds }, before)).toBe(isRight);
  });

  it.each([
    [50, 15],
    [70, 15],
    [0, 90],
  ])(
    'that is %s s ahead with a margin of %s s may be right or wrong, and keeps the earlier result',
    (seconds, marginSeconds) => {
      for (const before of [true, false]) expect(isClockRight({ seconds, marginSeconds }, before)).toBe(before);
    },
  );

  it.each([
    [7200, '2 h ahead of'],
    [-75.4, '75 s behind'],
    [7199.99, '2 h ahead of'],
    [5400, '1.5 h ahead of'],
    [1800, '30 min ahead of'],
    [-86_400, '24 h behind'],
  ])('that is %s s off is reported as %s the database clock', (seconds, words) => {
    expect(clockTrouble({ seconds, marginSeconds: 0 })).toBe(
      `The clock of this machine is ${words} the database clock. This machine starts no scheduled work until the clocks agree to within a minute; synchronize both machines with NTP.`,
    );
  });
});
