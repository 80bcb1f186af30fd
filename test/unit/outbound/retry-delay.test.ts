import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_RETRY_DELAY_MS, retryDelayMs } from '../../../src/outbound/send.ts';

const now = Date.parse('2026-01-01T00:00:00Z');

describe('the wait before a retry', () => {
  it.each([
    ['doubles its range with each attempt', 3, 100, null, 0.5, 200],
    ['can be nothing', 1, 100, null, 0, 0],
    ['honours seconds, with the jitter on top', 1, 100, '2', 0.5, 2050],
    ['honours a date', 1, 100, 'Thu, 01 Jan 2026 00:00:05 GMT', 0, 5000],
    ['takes a date that has passed as now', 1, 100, 'Wed, 31 Dec 2025 00:00:00 GMT', 0, 0],
    ['ignores a Retry-After that means nothing', 1, 100, 'soon', 0.5, 50],
    ['ignores a negative Retry-After', 1, 100, '-5', 0, 0],
    ['goes up to 30 s when asked to', 1, 100, '30', 0.9, 30_000],
    ['is refused beyond 30 s', 1, 100, '31', 0, null],
    ['is refused until a date beyond 30 s', 1, 100, 'Thu, 01 Jan 2026 01:00:00 GMT', 0, null],
  ] as const)('%s', (_name, attempt, backoffMs, retryAfter, random, expected) => {
    expect(retryDelayMs(attempt, backoffMs, retryAfter, random, now)).toBe(expected);
  });

  it('never exceeds 30 s, and never undercuts what the service asks for', () => {
    const seconds = fc.integer({ min: 0, max: 30 });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), seconds, random, (attempt, asked, random) => {
        const waitMs = retryDelayMs(attempt, 250, String(asked), random, now);
        expect(waitMs).toBeGreaterThanOrEqual(asked * 1000);
        expect(waitMs).toBeLessThanOrEqual(MAX_RETRY_DELAY_MS);
      }),
    );
  });
});
