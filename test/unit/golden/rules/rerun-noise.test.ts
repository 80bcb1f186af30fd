import { describe, expect, it } from 'vitest';
import { measureReruns, rerunNoise } from '../../../../src/golden/rules/run-noise.ts';
import { uniforms } from '../../../support/uniforms.ts';
import { pattern } from './scores.ts';

describe('rerunNoise', () => {
  it('is null for fewer than two runs', () => {
    expect(rerunNoise([])).toBeNull();
    expect(rerunNoise([pattern(10)])).toBeNull();
  });

  it('is exactly 0 for a retriever that always answers identically', () => {
    expect(rerunNoise([pattern(10), pattern(10), pattern(10)])).toEqual({
      reruns: 3,
      standardDeviation: 0,
      sharedVariance: 0,
      queries: 10,
      moved: 0,
      ofQueries: 0,
      isConstant: true,
    });
  });

  it('is shared when all queries change together', () => {
    const noise = rerunNoise([0.1, 0, -0.1].map((swing) => pattern(50).map((value) => value + swing)));
    // The means have a variance of 0.01; if the 50 queries changed independently, it would be 0.01 / 50.
    expect(noise?.standardDeviation).toBeCloseTo(Math.sqrt(2) * 0.1, 12);
    expect(noise?.sharedVariance).toBeCloseTo(2 * (0.01 - 0.01 / 50), 12);
  });

  it('is barely shared when each query changes independently', () => {
    const random = uniforms(11);
    const runs = Array.from({ length: 40 }, () => pattern(100).map((value) => value + 0.2 * (random() - 0.5)));
    const noise = rerunNoise(runs);
    // A uniform distribution of width 0.2 has the variance 0.04 / 12; the difference of two means over 100 queries has
    // the standard deviation sqrt(2 / 100 * 0.04 / 12).
    expect(noise?.standardDeviation).toBeCloseTo(Math.sqrt((2 * 0.04) / 12 / 100), 2);
    expect(noise?.sharedVariance).toBeLessThan(0.4 * (noise?.standardDeviation ?? 0) ** 2);
  });

  it('counts the queries that changed and by how much', () => {
    const runs = [0, 0.3, 0].map((swing) => pattern(10).map((value, i) => (i === 4 ? value + swing : value)));
    // The changes 0, 0.3 and 0 have a variance of 0.03.
    expect(rerunNoise(runs)).toMatchObject({ queries: 10, moved: 1, isConstant: false });
    expect(rerunNoise(runs)?.ofQueries).toBeCloseTo(0.003, 12);
  });

  it('refuses runs without queries or with different numbers of queries', () => {
    expect(() => rerunNoise([[1, 0], [1]])).toThrow('Reruns have different numbers of queries.');
    expect(() => rerunNoise([[], []])).toThrow(RangeError);
  });
});

describe('measureReruns', () => {
  const keys = [
    { measure: 'ndcg', k: 10 },
    { measure: 'hit_rate', k: 10 },
  ] as const;

  it('returns no noise and no means for a single run', () => {
    expect(measureReruns(keys, [[[1], [1]]], [])).toEqual({ noise: {}, means: null });
  });

  it('returns the mean score of each query by metric', () => {
    const { means } = measureReruns(
      keys,
      [
        [
          [1, 0.5],
          [1, 1],
        ],
        [
          [0, 0.5],
          [0, 1],
        ],
      ],
      [],
    );
    expect(Object.entries(means ?? {}).map(([key, values]) => [key, Array.from(values)])).toEqual([
      ['ndcg@10', [0.5, 0.5]],
      ['hit_rate@10', [0.5, 1]],
    ]);
  });

  it('does not treat a metric as constant if another metric changed', () => {
    const hits = [1, 1, 1];
    const moving = measureReruns(
      keys,
      [
        [[1, 0.5, 1], hits],
        [[1, 0.4, 1], hits],
      ],
      [{ name: 'course=a', members: [0, 2] }],
    );
    expect(moving.noise['all']?.['hit_rate@10']).toMatchObject({ moved: 0, isConstant: false });
    expect(moving.noise['course=a']?.['ndcg@10']).toMatchObject({ moved: 0, isConstant: false });
    const alike = [[1, 0.5, 1], hits];
    expect(measureReruns(keys, [alike, alike], []).noise['all']?.['hit_rate@10']).toMatchObject({ isConstant: true });
  });
});
