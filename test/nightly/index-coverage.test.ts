import { expect, it } from 'vitest';
import { measureIndexCoverage } from '../../bench/index-coverage.ts';

it('the quick simulation covers every fault of a store, and the lag of new documents', {
  timeout: 120_000,
}, async () => {
  const { broken, lags, streams } = await measureIndexCoverage(true, 1, () => undefined);
  for (const { share, inDay, measure, scope } of broken) {
    if (inDay === null) continue;
    if (share === 0) expect([measure, scope, inDay.share]).toEqual([measure, scope, 0]);
    if (share === 0.1) expect([measure, scope, inDay.share]).toEqual([measure, scope, 1]);
  }
  const held = [...broken, ...lags].filter((cell) => cell.held.share >= 0.75);
  expect(held.length).toBeGreaterThan(0.8 * (broken.length + lags.length));
  expect(streams.every(({ medianHours }) => medianHours !== null)).toBe(true);
});
