import { expect, it } from 'vitest';
import { measureShadowRelevance } from '../../bench/shadow-relevance.ts';

it('the quick simulation reports no equal shadow of judged live queries as worse, and a worse one in time', {
  timeout: 60_000,
}, () => {
  const { equal, worse } = measureShadowRelevance(true, 1, () => undefined);
  expect(equal.map(({ everCalled }) => everCalled.share)).toEqual([0, 0, 0, 0]);
  expect(worse.some(({ inTime }) => inTime?.share === 1)).toBe(true);
});
