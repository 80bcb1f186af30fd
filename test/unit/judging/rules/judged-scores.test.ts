import { describe, expect, it } from 'vitest';
import { judgedScores } from '../../../../src/judging/rules/judged-scores.ts';

describe('judged scores', () => {
  it('are 1 for a perfect list', () => {
    expect(judgedScores([3, 3, 2, 2, 2], 5)).toEqual({ ndcg: 1, precision: 1, hit_rate: 1, mrr: 1 });
  });

  it('count grade 2 and above as relevant, and use the grade as gain', () => {
    const { ndcg, ...others } = judgedScores([1, 0, 3], 5);
    expect(others).toEqual({ precision: 0.2, hit_rate: 1, mrr: 1 / 3 });
    expect(ndcg).toBeCloseTo((1 + 3 / 2) / (3 + 1 / Math.log2(3)), 12);
  });

  it('are 0 for an empty list and for a list without relevant documents', () => {
    const none = { ndcg: 0, precision: 0, hit_rate: 0, mrr: 0 };
    expect(judgedScores([], 5)).toEqual(none);
    expect(judgedScores([0, 0], 5)).toEqual(none);
  });

  it('ignore documents beyond the depth', () => {
    expect(judgedScores([0, 0, 3], 2)).toEqual(judgedScores([0, 0], 2));
  });
});
