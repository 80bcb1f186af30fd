import { expect, it } from 'vitest';
import { measureJudging } from '../../bench/judging-coverage.ts';

it('the quick simulation compares the bounds of every judged measure with the truth for each kind of judge', {
  timeout: 120_000,
}, () => {
  const { cells } = measureJudging(true, 1, () => undefined);
  expect(new Set(cells.map(({ judge: { bias, kappa } }) => `${bias} ${kappa}`)).size).toBe(12);
  expect(new Set(cells.map(({ bound }) => bound)).size).toBe(5);
  for (const { bound, draws } of cells) expect([bound, draws]).toEqual([bound, 4]);
  const held = cells.filter(({ coverage }) => coverage.share >= 0.75);
  expect(held.length).toBeGreaterThan(0.8 * cells.length);
});
