import { expect, it } from 'vitest';
import { measureShadows } from '../../bench/shadow-reports.ts';

it('plays equal and worse shadows, and the report announces before it calls', { timeout: 60_000 }, () => {
  const { equal, worse } = measureShadows(true, 1, () => undefined);
  expect(equal.map(({ shadows }) => shadows)).toEqual([1, 1, 1, 1]);
  expect(worse.some(({ inTime }) => inTime?.share === 1)).toBe(true);
});
