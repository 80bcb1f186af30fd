import { describe, expect, it } from 'vitest';
import { compareMetric } from '../../../../src/golden/rules/compare-metric.ts';
import { compareMany, isWorseThanFirst } from '../../../../src/golden/rules/compare-runs.ts';

const NDCG = { measure: 'ndcg', k: 10 } as const;
const MRR = { measure: 'mrr', k: 10 } as const;
const settings = { alpha: 0.05, minEffect: null };

/** 40 queries: every `step`-th query scores `other`, and the rest score 0.5. */
const scores = (other: number, step: number): Float64Array =>
  Float64Array.from({ length: 40 }, (_, row) => (row % step === 0 ? other : 0.5));

const [usual, alike, worse] = [scores(0.5, 1), scores(0.45, 8), scores(0.1, 2)];

describe('several configurations', () => {
  it("are compared in pairs, with p-values adjusted by Holm's method", () => {
    const { primary, n } = compareMany([NDCG], [[usual], [alike], [worse]], settings);
    expect(n).toBe(40);
    expect(primary.pairs.map(({ before, after }) => [before, after])).toEqual([
      [0, 1],
      [0, 2],
      [1, 2],
    ]);
    const p = primary.pairs.map(({ metric }) => metric.p);
    expect(p[0]).toBe(compareMetric(NDCG, usual, alike, null, settings).p);
    // Holm's method leaves the largest of three p-values unchanged and multiplies the smallest by three.
    expect(primary.pairs[0]?.pHolm).toBe(p[0]);
    expect(primary.pairs[1]?.pHolm).toBeCloseTo(3 * (p[1] ?? 1), 12);
  });

  it('are unbeaten if no other is better, and a configuration worse than the first is a regression', () => {
    const compared = compareMany([NDCG], [[usual], [alike], [worse]], settings);
    expect(compared.primary.pairs.map(({ verdict }) => verdict)).toEqual(['no_change', 'regression', 'regression']);
    expect(compared.primary.unbeaten).toEqual([0, 1]);
    expect(isWorseThanFirst(compared)).toBe(true);
    const turned = compareMany([NDCG], [[worse], [usual], [alike]], settings);
    expect(turned.primary.unbeaten).toEqual([1, 2]);
    expect(isWorseThanFirst(turned)).toBe(false);
  });

  it('get an inconclusive verdict for a barely significant difference when there are many of them', () => {
    // Because 6 of 40 queries drop by 0.2, p = 2^-5 for one pair, which is not significant among six pairs.
    const fallen = Float64Array.from(usual, (one, row) => (row < 6 ? one - 0.2 : one));
    expect(compareMany([NDCG], [[usual], [fallen]], settings).primary.pairs[0]).toMatchObject({
      verdict: 'regression',
    });
    const many = compareMany([NDCG], [[usual], [fallen], [usual], [alike]], settings);
    expect(many.primary.pairs[0]?.pHolm).toBeGreaterThan(0.05);
    expect(many.primary.pairs[0]?.verdict).toBe('inconclusive');
  });

  it('are compared by every measure, and the first measure is the primary one', () => {
    const { measures, primary } = compareMany(
      [MRR, NDCG],
      [
        [worse, usual],
        [usual, worse],
      ],
      settings,
    );
    expect(primary.key).toEqual(MRR);
    expect(measures.map(({ pairs }) => pairs[0]?.verdict)).toEqual(['improvement', 'regression']);
    expect(measures[1]?.means.map((value) => value.toFixed(2))).toEqual(['0.50', '0.30']);
  });

  it('must be at least two', () => {
    expect(() => compareMany([NDCG], [[usual]], settings)).toThrow(RangeError);
  });
});
