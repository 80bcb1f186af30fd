import { expect, it } from 'vitest';
import { createCallLimit } from '../../../src/access/call-limit.ts';

it('a caller may call so often within a minute from its first call, whatever others do', () => {
  const limit = createCallLimit(2, 10);
  expect([limit.count('a', 0), limit.count('b', 1000), limit.count('a', 2000)]).toEqual([null, null, null]);
  expect(limit.count('a', 15_000)).toBe(45_000);
  expect(limit.count('b', 15_000)).toBeNull();
  expect(limit.count('a', 59_999)).toBe(1);
  expect(limit.count('a', 60_000)).toBeNull();
});

it('of too many callers the one that was quiet longest is forgotten', () => {
  const limit = createCallLimit(1, 2);
  for (const caller of ['a', 'b', 'a', 'c']) limit.count(caller, 0);
  expect(limit.count('a', 0)).not.toBeNull();
  expect(limit.count('c', 0)).not.toBeNull();
  expect(limit.count('b', 0)).toBeNull();
});
