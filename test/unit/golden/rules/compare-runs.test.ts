import { describe, expect, it } from 'vitest';
import { compareRuns } from '../../../../src/golden/rules/compare-runs.ts';
import { measureNoise } from '../../../../src/golden/rules/rerun-noise.ts';
import type { MetricKey } from '../../../../src/ir/metric-key.ts';
import { pattern, SETTINGS } from './scores.ts';

const keys: readonly MetricKey[] = [
  { measure: 'ndcg', k: 10 },
  { measure: 'mrr', k: null },
];

/** The second half of the queries falls. */
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

  it('shows which segment fell and leaves out one without queries', () => {
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

  it('measures the noise of reruns for each segment by its own queries', () => {
    // The second half swings as a whole from rerun to rerun, more than it fell.
    const reruns = [-0.2, 0.2, -0.1, 0.1, 0].map((swing) => [
      ndcg.map((value, i) => (i < 50 ? value : value + swing)),
      mrr,
    ]);
    const noise = measureNoise(keys, reruns, halves);
    const { verdict, segments } = compareRuns(
      { keys, baseline: [ndcg, mrr], candidate: [fallen, mrr], noise, segments: halves },
      SETTINGS,
    );
    expect(verdict).toBe('inconclusive');
    expect(segments.map((segment) => segment.verdict)).toEqual(['no_change', 'inconclusive']);
  });

  it('of no queries is a bug of the caller', () => {
    expect(() => compareRuns({ keys, baseline: [[], []], candidate: [[], []] }, SETTINGS)).toThrow(
      RangeError,
    );
  });
});
