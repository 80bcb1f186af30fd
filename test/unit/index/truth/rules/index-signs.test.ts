import { expect, it } from 'vitest';
import { isLate, isWrong, lagSentence, wrongSentence } from '../../../../../src/index/truth/rules/findings.ts';

it('is wrong by the lower bound, and says how many documents, of how many', () => {
  const missing = { kind: 'missing', value: 0.021, ciLow: 0.019, n: 20_000, known: 412 } as const;
  expect(isWrong(missing)).toBe(true);
  expect(wrongSentence(missing)).toBe(
    '412 documents of the manifest are missing in the store (2.1 % of 20000 looked at, at least 1.9 %).',
  );
  expect(isWrong({ ...missing, ciLow: 0.004 })).toBe(false);
});

it('is late by the lower bound, and says how long it takes beside what is allowed', () => {
  const lag = { seconds: 21_000, atLeast: 19_200, allowed: 3600, n: 40, waiting: 3, overdue: 3 };
  expect(isLate(lag)).toBe(true);
  expect(lagSentence(lag)).toBe(
    'One in twenty changes takes at least 5 h 20 min to arrive in the store (n = 40, 3 not there yet); 1 h is allowed.',
  );
  expect(lagSentence({ ...lag, waiting: 0 })).toContain('(n = 40)');
  expect(isLate({ ...lag, atLeast: 3600 })).toBe(false);
  expect(isLate({ ...lag, overdue: 0 })).toBe(false);
});
