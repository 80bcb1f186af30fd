import { describe, expect, it } from 'vitest';
import { adviseOnSetSize, compareRuns, mostRegressed } from '../../../../src/golden/rules/compare-runs.ts';
import { measureReruns } from '../../../../src/golden/rules/run-noise.ts';
import type { ComparisonSettings } from '../../../../src/golden/rules/verdict.ts';
import type { MetricKey } from '../../../../src/math/ir/metric-key.ts';
import { pattern, SETTINGS } from './scores.ts';

const keys: readonly MetricKey[] = [
  { measure: 'ndcg', k: 10 },
  { measure: 'mrr', k: null },
];

/** In `fallen`, the scores of the second half of the queries are lower. */
const ndcg = pattern(100);
const fallen = ndcg.map((value, i) => (i < 50 ? value : value - 0.1 - (i % 5) / 50));
const mrr = pattern(100).toReversed();
const halves = [
  { name: 'language=en', members: Array.from({ length: 50 }, (_, i) => i) },
  { name: 'language=de', members: Array.from({ length: 50 }, (_, i) => 50 + i) },
  { name: 'language=fr', members: [] },
];

describe('compareRuns', () => {
  it('compares each metric over all queries, in the order of the keys', () => {
    const comparison = compareRuns({ keys, baseline: [ndcg, mrr], candidate: [fallen, mrr] }, SETTINGS);
    expect(comparison).toMatchObject({ segment: 'all', n: 100, verdict: 'regression', segments: [] });
    expect(comparison.metrics.map(({ key, verdict }) => [key.measure, verdict])).toEqual([
      ['ndcg', 'regression'],
      ['mrr', 'no_change'],
    ]);
  });

  it('shows which segment dropped, and skips a segment without queries', () => {
    const { segments } = compareRuns(
      { keys, baseline: [ndcg, mrr], candidate: [fallen, mrr], segments: halves },
      SETTINGS,
    );
    expect(segments.map(({ segment, n, verdict }) => [segment, n, verdict])).toEqual([
      ['language=en', 50, 'no_change'],
      ['language=de', 50, 'regression'],
    ]);
    expect(segments[0]?.metrics[0]).toMatchObject({ difference: 0, pRandomization: 1, ties: 50 });
  });

  it('measures the noise of reruns separately for the queries of each segment', () => {
    // Between reruns, the scores of the second half of the queries shift together, some by more than their drop in
    // `fallen`.
    const reruns = [-0.2, 0.2, -0.1, 0.1, 0].map((swing) => [
      ndcg.map((value, i) => (i < 50 ? value : value + swing)),
      mrr,
    ]);
    const { noise } = measureReruns(keys, reruns, halves);
    const { verdict, segments } = compareRuns(
      { keys, baseline: [ndcg, mrr], candidate: [fallen, mrr], noise, segments: halves },
      SETTINGS,
    );
    expect(verdict).toBe('inconclusive');
    expect(segments.map((segment) => segment.verdict)).toEqual(['no_change', 'inconclusive']);
  });

  it('throws without queries', () => {
    expect(() => compareRuns({ keys, baseline: [[], []], candidate: [[], []] }, SETTINGS)).toThrow(RangeError);
  });
});

describe('mostRegressed', () => {
  const ids = ['steady', 'rose', 'fell', 'fell more', 'fell too'];
  const before = [0.5, 0, 0.75, 1, 0.5];
  const after = [0.5, 1, 0.5, 0, 0.25];

  it('lists the regressed queries, the largest drop first, ties in the given order', () => {
    expect(mostRegressed(ids, before, after, 10)).toEqual([
      { queryId: 'fell more', baseline: 1, candidate: 0, difference: -1 },
      { queryId: 'fell', baseline: 0.75, candidate: 0.5, difference: -0.25 },
      { queryId: 'fell too', baseline: 0.5, candidate: 0.25, difference: -0.25 },
    ]);
  });

  it('lists no more than requested', () => {
    expect(mostRegressed(ids, before, after, 1).map(({ queryId }) => queryId)).toEqual(['fell more']);
  });
});

/** Returns the advice for a comparison in which every second query changes by `size`, alternately up and down. */
function advice(n: number, size: number, settings: ComparisonSettings = SETTINGS): string[] {
  const baseline = pattern(n);
  const candidate = baseline.map((value, i) => value + ([0, size, 0, -size][i % 4] ?? 0));
  const keys = [{ measure: 'ndcg' as const, k: 10 }];
  return adviseOnSetSize(compareRuns({ keys, baseline: [baseline], candidate: [candidate] }, settings), settings);
}

describe('adviseOnSetSize', () => {
  it('returns no advice for a set that is large enough', () => {
    expect(advice(400, 0.05)).toEqual([]);
  });

  it('warns about fewer than 100 queries', () => {
    expect(advice(99, 0)).toEqual(['99 queries: use at least 100, preferably 300, before you trust a verdict.']);
    expect(advice(1, 0)[0]).toMatch(/^1 query: /);
    expect(advice(100, 0)).toEqual([]);
  });

  it('reports which differences cannot be detected, and how many queries would detect them', () => {
    // Differences have a standard deviation of 0.2 / sqrt(2) = 0.141, so 100 queries detect 2.8 * 0.141 / 10 = 0.040,
    // and 393 queries detect 0.02.
    expect(advice(100, 0.2)).toEqual([
      expect.stringMatching(
        /^ndcg@10: with 100 queries, differences below 0\.040\d may be chance; about 39\d queries would detect 0\.02\.$/,
      ),
    ]);
  });

  it('returns no advice about detectable differences if every difference matters', () => {
    expect(advice(100, 0.2, { alpha: 0.05, minEffect: 0 })).toEqual([]);
  });
});
