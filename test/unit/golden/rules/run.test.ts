import { describe, expect, it } from 'vitest';
import { failedShare, runDeadlineMs } from '../../../../src/golden/rules/run.ts';
import { aRunSettings } from '../../../support/builders.ts';

describe('the share of failed queries', () => {
  it.each([
    ['errors and timeouts', { ok: 6, empty: 0, error: 3, timeout: 1 }, 0.4],
    ['empty answers, which are not failures', { ok: 0, empty: 4, error: 0, timeout: 0 }, 0],
    ['a run in which every query failed', { ok: 0, empty: 0, error: 2, timeout: 2 }, 1],
    ['a run without queries, where the share is 0', { ok: 0, empty: 0, error: 0, timeout: 0 }, 0],
  ])('is computed for %s', (_, outcomes, share) => {
    expect(failedShare(outcomes)).toBe(share);
  });
});

describe('the deadline of a golden run', () => {
  it.each([
    ['ten minutes for a small set', 50, { maxPerSecond: 20, concurrency: 4 }, 2000, 600_000],
    [
      'three times the request intervals plus one timeout for each round of concurrent queries',
      10_000,
      { maxPerSecond: 10, concurrency: 4 },
      2000,
      3_000_000 + 5_000_000,
    ],
    [
      'rounded up to whole rounds of concurrent queries',
      10_001,
      { maxPerSecond: 10, concurrency: 4 },
      2000,
      3_000_300 + 2501 * 2000,
    ],
  ])('is %s', (_, queries, settings, timeoutMs, expected) => {
    expect(runDeadlineMs(queries, aRunSettings(settings), timeoutMs)).toBe(expected);
  });

  it('leaves time for every query to time out at the configured rate limit', () => {
    const settings = aRunSettings({ maxPerSecond: 5, concurrency: 1 });
    expect(runDeadlineMs(2000, settings, 3000)).toBeGreaterThan(2000 * 3000);
  });
});
