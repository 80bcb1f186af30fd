import { expect, it } from 'vitest';
import { measureLimit } from '../../bench/judging-limit.ts';

it('the grades of a judge determine only a part of the differences in the scores of people', () => {
  const { cells } = measureLimit(true);
  expect(cells.length).toBe(12);
  for (const { measure, byScore, byAny } of cells) {
    expect([measure, byScore > 0.2 && byScore < 0.8]).toEqual([measure, true]);
    expect([measure, byAny < 0.8]).toEqual([measure, true]);
  }
});
