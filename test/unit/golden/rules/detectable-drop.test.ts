import { assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chanceOfStreak,
  describePower,
  detectableDrop,
  rerunVariance,
  usualCheck,
} from '../../../../src/golden/rules/run-noise.ts';
import { aRerunNoise } from '../../../support/builders.ts';
import { uniforms } from '../../../support/uniforms.ts';

const check = { ...usualCheck, measure: 'ndcg@10' };
const constant = aRerunNoise({ isConstant: true });

describe('the chance of a streak of hits', () => {
  it('equals the share of all sequences that contain such a streak', () => {
    assert(
      property(integer({ min: 1, max: 4 }), integer({ min: 0, max: 10 }), (row, trials) => {
        let hits = 0;
        for (let bits = 0; bits < 2 ** trials; bits++) {
          const sequence = Array.from({ length: trials }, (_, trial) => (bits >> trial) & 1).join('');
          if (sequence.includes('1'.repeat(row))) hits++;
        }
        expect(chanceOfStreak(0.5, row, trials)).toBeCloseTo(hits / 2 ** trials, 12);
      }),
    );
  });

  it('is 1 when every trial is a hit', () => {
    expect(chanceOfStreak(1, 2, 2)).toBe(1);
    expect(chanceOfStreak(1, 2, 1)).toBe(0);
  });
});

describe('the detectable drop of a golden set', () => {
  it('equals the threshold of the check for a retriever that always answers identically', () => {
    expect(detectableDrop(constant, 20, check, 2)).toBe(0.02);
  });

  it('is null with fewer runs than the check needs', () => {
    expect(detectableDrop(constant, 100, check, 1)).toBeNull();
  });

  it('is smaller with more runs, and with more queries', () => {
    const noise = aRerunNoise({ ofQueries: 0.01 });
    const drop = (n: number, runs: number): number => detectableDrop(noise, n, check, runs) ?? Number.NaN;
    expect(drop(100, 24)).toBeLessThan(drop(100, 2));
    expect(drop(400, 2)).toBeLessThan(drop(100, 2));
  });

  it('is detected in about 80 % of simulations', () => {
    const noise = aRerunNoise({ standardDeviation: Math.sqrt(2 * 0.0002), ofQueries: 0.01 });
    const drop = detectableDrop(noise, 100, check, 24) ?? Number.NaN;
    const random = uniforms(17);
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    // Variance of the mean: 0.01 / 100 from the queries' own noise, and 0.0002 - 0.01 / 100 from noise that they share.
    const deviation = Math.sqrt(0.0002);
    const minimum = Math.max(check.drop, 2.5758293 * Math.sqrt(rerunVariance(noise, 100)));
    let called = 0;
    for (let stream = 0; stream < 2000; stream++) {
      const baseline = (normal() * deviation) / Math.sqrt(10);
      let row = 0;
      for (let run = 0; run < 24 && row < 2; run++) {
        row = normal() * deviation - drop - baseline <= -minimum ? row + 1 : 0;
      }
      if (row === 2) called++;
    }
    expect(called / 2000).toBeGreaterThan(0.77);
    expect(called / 2000).toBeLessThan(0.83);
  });
});

describe('the description of the detectable drop', () => {
  it('states its assumption before the first rerun', () => {
    expect(describePower(null, 100, check, 24)).toBe(
      'ndcg@10: the detectable drop is unknown until a run is pinned with reruns, which measure the retriever noise (`recalld baselines pin RUN --reruns 9`). For a retriever that always returns the same results, the check reports every drop of at least 0.02 within 2 runs.',
    );
  });

  it('is certain for a retriever that always answered identically', () => {
    expect(describePower(constant, 100, check, 24)).toBe(
      'ndcg@10: the check reports every drop of at least 0.02 within 2 runs, because the retriever returned the same results in 10 runs.',
    );
  });

  it('states the measured noise, and the drop within a day if there are enough runs', () => {
    const noise = aRerunNoise();
    expect(describePower(noise, 300, check, 24)).toMatch(
      /^ndcg@10: with 300 queries and the noise of 10 runs, the check detects a drop of 0\.0\d+ within 2 runs with a probability of 80 %, and a drop of 0\.0\d+ within a day \(24 runs\)\. The threshold of the check is 0\.02\.$/,
    );
    expect(describePower(noise, 300, check, 1)).not.toContain('within a day');
  });
});
