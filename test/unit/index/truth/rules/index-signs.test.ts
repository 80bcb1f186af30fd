import { expect, it } from 'vitest';
import { describeFinding, describeLag, isLate, isWrong } from '../../../../../src/index/truth/rules/findings.ts';

it('reports a finding only if its lower bound exceeds the limit, and states the number of documents', () => {
  const missing = { kind: 'missing', value: 0.021, ciLow: 0.019, n: 20_000, known: 412, neverArrived: 0 } as const;
  expect(isWrong(missing)).toBe(true);
  expect(describeFinding(missing)).toBe(
    '412 documents in the manifest are missing from the store (2.1 % of 20\u202f000 checked; lower bound of the 95 % CI 1.9 %).',
  );
  expect(isWrong({ ...missing, ciLow: 0.004 })).toBe(false);
});

it('reports a lag only if its lower bound exceeds the limit, and states both', () => {
  const lag = { seconds: 21_000, atLeast: 19_200, allowed: 3600, n: 40, waiting: 3, overdue: 3 };
  expect(isLate(lag)).toBe(true);
  expect(describeLag(lag)).toBe(
    '5 % of changes take at least 5 h 20 min to reach the store (n = 40, 3 still waiting); the limit is 1 h.',
  );
  expect(describeLag({ ...lag, waiting: 0 })).toContain('(n = 40)');
  expect(isLate({ ...lag, atLeast: 3600 })).toBe(false);
  expect(isLate({ ...lag, overdue: 0 })).toBe(false);
});
