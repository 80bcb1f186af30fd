import { expect, it } from 'vitest';
import { measureShadowRelevance } from '../../bench/shadow-relevance.ts';

it('simulates equal and worse shadows of judged live queries', { timeout: 60_000 }, () => {
  const { equal, worse } = measureShadowRelevance(true, 1, () => undefined);
  expect(equal.map(({ everCalled }) => everCalled.share)).toEqual([0, 0, 0, 0]);
  expect(worse.some(({ inTime }) => inTime?.share === 1)).toBe(true);
});
