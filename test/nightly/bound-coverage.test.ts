import { expect, it } from 'vitest';
import { measureCoverage } from '../../bench/bound-coverage.ts';

it('the quick simulation compares every kind of confidence bounds with the truth in each simulated world', {
  timeout: 120_000,
}, () => {
  const { cells } = measureCoverage(true, 1, () => undefined);
  expect(new Set(cells.map(({ bound }) => bound)).size).toBe(14);
  for (const { bound, world, draws } of cells) expect([bound, world, draws]).toEqual([bound, world, 4]);
  const held = cells.filter(({ coverage }) => coverage.share >= 0.75);
  expect(held.length).toBeGreaterThan(0.8 * cells.length);
});
