import { expect, it } from 'vitest';
import { measureShadows } from '../../bench/shadow-reports.ts';

it('the quick simulation covers equal and worse shadows, and reports a worse one in time', {
  timeout: 60_000,
}, () => {
  const { equal, worse } = measureShadows(true, 1, () => undefined);
  expect(equal.map(({ shadows }) => shadows)).toEqual([1, 1, 1, 1]);
  expect(worse.some(({ inTime }) => inTime?.share === 1)).toBe(true);
});
