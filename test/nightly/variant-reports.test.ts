import { expect, it } from 'vitest';
import { measureVariants } from '../../bench/variant-reports.ts';

it('plays variants that are alike, worse, or split otherwise than declared', { timeout: 60_000 }, () => {
  const { equal, worse, split } = measureVariants(true, 1, () => undefined);
  expect(equal.map(({ streams }) => streams)).toEqual([1, 1, 1, 1]);
  expect(worse.every(({ clicks, difference }) => clicks > difference)).toBe(true);
  expect(split.every(({ called }) => called.share >= 0 && called.share <= 1)).toBe(true);
});
