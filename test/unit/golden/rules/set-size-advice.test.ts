import { describe, expect, it } from 'vitest';
import { adviseOnSetSize, compareRuns } from '../../../../src/golden/rules/compare-runs.ts';
import type { ComparisonSettings } from '../../../../src/golden/rules/verdict.ts';
import { pattern, SETTINGS } from './scores.ts';

/** Every second query moves by `size`, up and down in turn. */
function advice(n: number, size: number, settings: ComparisonSettings = SETTINGS): string[] {
  const baseline = pattern(n);
  const candidate = baseline.map((value, i) => value + ([0, size, 0, -size][i % 4] ?? 0));
  const keys = [{ measure: 'ndcg' as const, k: 10 }];
  return adviseOnSetSize(
    compareRuns({ keys, baseline: [baseline], candidate: [candidate] }, settings),
    settings,
  );
}

describe('adviseOnSetSize', () => {
  it('is silent for a set that is large enough', () => {
    expect(advice(400, 0.05)).toEqual([]);
  });

  it('warns under 100 queries, and not from 100 on', () => {
    expect(advice(99, 0)).toEqual([
      '99 queries are few: have at least 100, better 300, before you trust a verdict.',
    ]);
    expect(advice(1, 0)[0]).toMatch(/^1 query is few:/);
    expect(advice(100, 0)).toEqual([]);
  });

  it('says which differences cannot be told, and how many queries would tell them', () => {
    // Differences spread by 0.2 / sqrt(2) = 0.141: 2.8 * 0.141 / 10 = 0.040, and 393 queries find 0.02.
    expect(advice(100, 0.2)).toEqual([
      expect.stringMatching(
        /^ndcg@10: differences below 0\.040 cannot be told from luck with 100 queries; about 39\d queries would tell 0\.02\.$/,
      ),
    ]);
  });

  it('names no number of queries when every difference matters', () => {
    expect(advice(100, 0.2, { alpha: 0.05, minEffect: 0 })).toEqual([]);
  });
});
