import { describe, expect, it } from 'vitest';
import { rerunNoise } from '../../../../src/golden/rules/rerun-noise.ts';
import { uniforms } from '../../../support/uniforms.ts';
import { pattern } from './scores.ts';

describe('rerunNoise', () => {
  it('is null for fewer than two runs, which tell nothing', () => {
    expect(rerunNoise([])).toBeNull();
    expect(rerunNoise([pattern(10)])).toBeNull();
  });

  it('is exactly 0 for a retriever that always answers the same', () => {
    expect(rerunNoise([pattern(10), pattern(10), pattern(10)])).toEqual({
      reruns: 3,
      standardDeviation: 0,
      sharedVariance: 0,
    });
  });

  it('is shared when all queries move together', () => {
    const noise = rerunNoise([0.1, 0, -0.1].map((swing) => pattern(50).map((value) => value + swing)));
    // The means have a variance of 0.01, of which the queries explain a fiftieth if they moved alone.
    expect(noise?.standardDeviation).toBeCloseTo(Math.sqrt(2) * 0.1, 12);
    expect(noise?.sharedVariance).toBeCloseTo(2 * (0.01 - 0.01 / 50), 12);
  });

  it('is hardly shared when each query moves alone', () => {
    const random = uniforms(11);
    const runs = Array.from({ length: 40 }, () => pattern(100).map((value) => value + 0.2 * (random() - 0.5)));
    const noise = rerunNoise(runs);
    // A uniform width of 0.2 has a variance of 0.04 / 12; two means of 100 differ by sqrt(2 / 100) of its root.
    expect(noise?.standardDeviation).toBeCloseTo(Math.sqrt((2 * 0.04) / 12 / 100), 2);
    expect(noise?.sharedVariance).toBeLessThan(0.4 * (noise?.standardDeviation ?? 0) ** 2);
  });

  it('refuses runs of different or no queries', () => {
    expect(() => rerunNoise([[1, 0], [1]])).toThrow('Reruns have different numbers of queries.');
    expect(() => rerunNoise([[], []])).toThrow(RangeError);
  });
});
