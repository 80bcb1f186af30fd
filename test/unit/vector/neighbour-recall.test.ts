import { describe, expect, it } from 'vitest';
import { neighbourRecall } from '../../../src/vector/nearest-neighbours.ts';

const ranked = (...similarities: readonly [string, number][]) =>
  similarities.map(([id, similarity]) => ({ id, similarity }));

describe('the recall of an approximate search', () => {
  const exact = ranked(['a', 0.9], ['b', 0.8], ['c', 0.7], ['d', 0.6]);

  it('is the share of the exact neighbours that it found', () => {
    expect(neighbourRecall(exact, exact)).toBe(1);
    expect(neighbourRecall(ranked(['a', 0.9], ['c', 0.7], ['x', 0.1]), exact)).toBe(0.5);
    expect(neighbourRecall([], exact)).toBe(0);
  });

  it('takes an equally near neighbour for the last one', () => {
    const other = ranked(['a', 0.9], ['b', 0.8], ['c', 0.7], ['twin-of-d', 0.6]);
    expect(neighbourRecall(other, exact)).toBe(1);
  });

  it('never exceeds 1, however many equals come back', () => {
    const equals = ranked(['x', 0.6], ['y', 0.6], ['z', 0.6], ['a', 0.9], ['b', 0.8], ['c', 0.7]);
    expect(neighbourRecall(equals, exact)).toBe(1);
  });

  it('is unknown where there is nothing to find', () => {
    expect(neighbourRecall([], [])).toBeNull();
  });
});
