import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measureRepresentativeness, reweightedScore } from '../../../../src/golden/rules/representativeness.ts';
import { createRandom } from '../../../../src/math/stats/random.ts';
import { matrixOf } from '../../../../src/math/vector/matrix.ts';

/** Vectors near one axis of an 8-dimensional space. */
function around(axis: number, count: number, seed: number): Float32Array[] {
  const random = createRandom(seed);
  const draw = new Uint32Array(8);
  return Array.from({ length: count }, () => {
    random(draw);
    return Float32Array.from(draw, (value, i) => (i === axis ? 1 : 0) + 0.2 * (value / 2 ** 32 - 0.5));
  });
}

const sampled = (count: number, probability: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ probability, cluster: `s${from + i}` }));

describe('a golden set', () => {
  it('with queries on every topic covers live traffic', () => {
    const result = measureRepresentativeness({
      live: sampled(100, 0.5),
      liveVectors: matrixOf([...around(0, 50, 1), ...around(1, 50, 2)]),
      goldenVectors: matrixOf([...around(0, 20, 3), ...around(1, 20, 4)]),
    });
    expect(result.covered?.value).toBeGreaterThan(0.85);
    expect(result.represented).toBeGreaterThan(0.85);
  });

  it('reports the topics it lacks by their share of live traffic, not by their number of samples', () => {
    const result = measureRepresentativeness({
      live: [...sampled(75, 1), ...sampled(25, 0.1, 75)],
      liveVectors: matrixOf([...around(0, 75, 1), ...around(5, 25, 2)]),
      goldenVectors: matrixOf(around(0, 40, 3)),
    });
    // 25 samples represent 250 of 325 live queries.
    const lacking = result.topics.filter(({ golden }) => golden === 0).reduce((sum, { share }) => sum + share, 0);
    expect(lacking).toBeGreaterThanOrEqual(250 / 325 - 1e-9);
    expect(result.covered?.value).toBeLessThanOrEqual(75 / 325);
    expect(result.topics.find(({ typical }) => typical.some((row) => row >= 75))).toMatchObject({
      covered: 0,
      golden: 0,
    });
  });

  it('gets weights that give each topic its share of live traffic', () => {
    const { goldenWeights } = measureRepresentativeness({
      live: [...sampled(25, 0.25), ...sampled(25, 1, 25)],
      liveVectors: matrixOf([...around(0, 25, 1), ...around(4, 25, 2)]),
      goldenVectors: matrixOf([...around(0, 2, 3), ...around(4, 8, 4)]),
    });
    const sum = (from: number, to: number) => goldenWeights.subarray(from, to).reduce((a, b) => a + b, 0);
    expect(sum(0, 2)).toBeCloseTo(0.8, 9);
    expect(sum(2, 10)).toBeCloseTo(0.2, 9);
  });

  it('without queries covers nothing, and without live queries its coverage is unknown', () => {
    const live = { live: sampled(4, 0.5), liveVectors: matrixOf(around(0, 4, 1)) };
    const none = { rows: 0, columns: 8, data: new Float32Array() };
    expect(measureRepresentativeness({ ...live, goldenVectors: none })).toMatchObject({
      covered: { value: 0, ciLow: 0, n: 4, effectiveSessions: 4 },
      represented: 0,
    });
    const unknown = {
      live: [],
      liveVectors: none,
      goldenVectors: matrixOf(around(0, 2, 1)),
    };
    expect(measureRepresentativeness(unknown)).toMatchObject({
      covered: null,
      topics: [],
    });
  });

  it('is measured with the same result every time', () => {
    const input = {
      live: sampled(60, 0.3),
      liveVectors: matrixOf([...around(0, 30, 1), ...around(1, 30, 2)]),
      goldenVectors: matrixOf(around(0, 10, 3)),
    };
    expect(measureRepresentativeness(input)).toEqual(measureRepresentativeness(input));
  });
});

describe('a score weighted by the mix of live traffic', () => {
  it('is the weighted mean with its effective sample size', () => {
    const score = reweightedScore([1, 0, 1, 0], [0.4, 0.4, 0.1, 0.1]);
    expect(score).toMatchObject({ mean: 0.5, n: 4 });
    expect(score?.effectiveSampleSize).toBeCloseTo(1 / 0.34, 12);
  });

  it('is the plain mean with the bounds of a t interval when all weights are equal', () => {
    const score = reweightedScore([0.2, 0.4, 0.6, 0.8], [1, 1, 1, 1]);
    // The standard deviation is 0.258199, and the quantile of t(3) is 3.182446.
    expect(score?.mean).toBeCloseTo(0.5, 12);
    expect(score?.ciHigh).toBeCloseTo(0.5 + (3.182446305 * 0.2581988897) / 2, 8);
    expect(score?.effectiveSampleSize).toBeCloseTo(4, 12);
  });

  it('has the bounds 0 and 1 for a single query, and is null if all weights are 0', () => {
    expect(reweightedScore([1, 0], [1, 0])).toMatchObject({ mean: 1, ciLow: 0, ciHigh: 1, n: 1 });
    expect(reweightedScore([1, 0], [0, 0])).toBeNull();
  });

  it('stays within its bounds and within 0 and 1, and does not depend on the scale of the weights', () => {
    const unit = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(unit, fc.integer({ min: 0, max: 50 })), { minLength: 1 }), (rows) => {
        const [scores, weights] = [rows.map(([score]) => score), rows.map(([, weight]) => weight)];
        const score = reweightedScore(scores, weights);
        if (score === null) return;
        expect(score.ciLow).toBeLessThanOrEqual(score.mean);
        expect(score.ciHigh).toBeGreaterThanOrEqual(score.mean);
        expect(score.ciLow).toBeGreaterThanOrEqual(0);
        expect(score.ciHigh).toBeLessThanOrEqual(1);
        expect(score.effectiveSampleSize).toBeLessThanOrEqual(score.n + 1e-9);
        expect(
          reweightedScore(
            scores,
            weights.map((weight) => weight * 8),
          )?.mean,
        ).toBeCloseTo(score.mean, 12);
      }),
    );
  });
});
