import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryAfterMs, retryDelayMs } from '../../../src/client/delivery.ts';

const now = Date.parse('2026-11-20T15:45:00Z');
const almostOne = 1 - Number.EPSILON;

describe('the wait before a retry', () => {
  it.each([
    { attempt: 1, longest: 500 },
    { attempt: 2, longest: 1000 },
    { attempt: 4, longest: 4000 },
    { attempt: 8, longest: 60_000 },
    { attempt: 5000, longest: 60_000 },
  ])('is between 0 and $longest ms after attempt $attempt', ({ attempt, longest }) => {
    expect(retryDelayMs(attempt, null, 0, now)).toBe(0);
    expect(retryDelayMs(attempt, null, 0.5, now)).toBeCloseTo(longest / 2, 6);
    expect(retryDelayMs(attempt, null, almostOne, now)).toBeCloseTo(longest, 6);
  });

  it('is never shorter than Retry-After, nor longer than a minute', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 0, max: 100_000 }),
        fc.double({ min: 0, max: almostOne, noNaN: true }),
        (attempt, seconds, random) => {
          const delay = retryDelayMs(attempt, String(seconds), random, now);
          expect(delay).toBeGreaterThanOrEqual(Math.min(60_000, seconds * 1000));
          expect(delay).toBeLessThanOrEqual(60_000);
        },
      ),
    );
  });

  it('differs between hosts that were rejected at the same time', () => {
    expect(retryDelayMs(1, '5', 0.1, now)).not.toBe(retryDelayMs(1, '5', 0.9, now));
  });
});

it.each([
  { header: null, ms: 0 },
  { header: '7', ms: 7000 },
  { header: ' 0 ', ms: 0 },
  { header: 'Fri, 20 Nov 2026 15:45:30 GMT', ms: 30_000 },
  { header: 'Fri, 20 Nov 2026 15:00:00 GMT', ms: 0 },
  { header: 'soon', ms: 0 },
  { header: '', ms: 0 },
])('the client reads Retry-After $header as $ms ms', ({ header, ms }) => {
  expect(retryAfterMs(header, now)).toBe(ms);
});
