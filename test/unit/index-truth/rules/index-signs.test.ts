import { expect, it } from 'vitest';
import { isWrong, wrongSentence } from '../../../../src/index-truth/rules/index-signs.ts';

it('is wrong by the lower bound, and says how many documents, of how many', () => {
  const missing = { kind: 'missing', value: 0.021, ciLow: 0.019, n: 20_000, known: 412 } as const;
  expect(isWrong(missing)).toBe(true);
  expect(wrongSentence(missing)).toBe(
    '412 documents of the manifest are missing in the store (2.1 % of 20000 looked at, at least 1.9 %).',
  );
  expect(isWrong({ ...missing, ciLow: 0.004 })).toBe(false);
  expect(isWrong({ ...missing, kind: 'other_model', ciLow: 0.006 })).toBe(false);
});
