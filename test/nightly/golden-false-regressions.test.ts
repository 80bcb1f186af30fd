import { describe, expect, it } from 'vitest';
import { meanWithBounds, rateWithBounds, shareWithBounds } from '../../bench/bounds.ts';
import { noiseLevels } from '../../bench/golden/false-regressions.ts';
import { damage, drawRetriever, rebuilt, runOnce } from '../../bench/golden/noisy-retriever.ts';
import { defaultCheck, RERUNS, startWatch } from '../../bench/golden/watched-stream.ts';
import { measureGolden } from '../../bench/golden-false-regressions.ts';
import { randomNumbers } from '../../bench/random-numbers.ts';
import { type ComparedWithBaseline, evaluateRegression } from '../../src/checks/rules/regression.ts';
import { NO_SHIFT } from '../../src/checks/rules/threshold.ts';
import type { Verdict } from '../../src/core/model.ts';
import { compareMetric, type MetricComparison } from '../../src/golden/rules/compare-metric.ts';
import { measureReruns } from '../../src/golden/rules/run-noise.ts';
import { storedComparison } from '../../src/golden/rules/verdict.ts';
import { mean } from '../../src/math/stats/descriptive.ts';

const still = { name: 'still', restless: 0, flips: 0, shared: 0, replicas: 'none', rebuild: null } as const;

describe('a simulated stream of golden runs', () => {
  it.each(noiseLevels)('gets the verdicts of a daemon that makes every comparison, with the noise: $name', (noise) => {
    const verdicts: boolean[] = [];
    for (let seed = 1; seed <= 3; seed++) {
      const random = randomNumbers(seed);
      const retriever = drawRetriever(60, random);
      const damaged = damage(retriever, 0.25, 0, random);
      const reruns = Array.from({ length: RERUNS }, () => runOnce(retriever, noise, random));
      const pinned = reruns.at(-1)?.ndcg ?? [];
      const keys = [
        { measure: 'ndcg', k: 10 },
        { measure: 'hit_rate', k: 10 },
      ] as const;
      const { noise: table, means } = measureReruns(
        keys,
        reruns.map(({ ndcg, hits }) => [ndcg, hits]),
        [],
      );
      const watch = startWatch('ndcg', reruns);
      const check = { ...defaultCheck, measure: 'ndcg@10' };
      const learned: number[] = [];
      let history: ComparedWithBaseline[] = [];
      let previousVerdict: Verdict | null = null;
      let last: MetricComparison | null = null;
      // Each day has two runs; only the last four runs have the drop.
      for (let run = 0; run < 18; run++) {
        const day = Math.floor(run / 2);
        const isOwn = day === 0 || noise.rebuild?.isSeen !== true;
        if (run % 2 === 0 && (isOwn || day > 1) && last !== null && !(last.verdict === 'regression' && last.p < 0.01)) {
          learned.push(last.difference);
        }
        const scored = runOnce(run < 14 ? retriever : damaged, noise, random);
        const own = table['all']?.['ndcg@10'] ?? null;
        const unit = isOwn ? 'day' : 'generation';
        const expected = { means: means?.['ndcg@10'] ?? [], unit, accepted: [...learned] } as const;
        last = compareMetric(keys[0], pinned, scored.ndcg, own, storedComparison, expected);
        const current = { runId: `${run}`, baselineRunId: 'baseline', metrics: [last] };
        const { verdict } = evaluateRegression(check, current, history, NO_SHIFT, previousVerdict);
        const isBreached = verdict === 'critical';
        previousVerdict = verdict;
        history = [current];
        expect(watch.judge(scored, day, isOwn)).toBe(isBreached);
        verdicts.push(isBreached);
      }
    }
    if (noise.shared < 0.02) expect(verdicts).toContain(true);
    expect(verdicts).toContain(false);
  });

  it('drops by the requested amount, with and without churn', () => {
    const random = randomNumbers(3);
    for (const churn of [0, 0.1]) {
      const before = drawRetriever(300, random);
      const fall = before.meanNdcg - damage(before, 0.05, churn, random).meanNdcg;
      expect(fall).toBeGreaterThanOrEqual(0.05 - 1e-9);
      expect(fall).toBeLessThan(0.05 + 1 / 300);
    }
  });

  it('varies by the noise that its queries share', () => {
    const random = randomNumbers(5);
    const retriever = drawRetriever(1000, random);
    const noise = { ...still, name: 'swaying', shared: 0.05 };
    const means = Array.from({ length: 400 }, () => mean(runOnce(retriever, noise, random).ndcg));
    const spread = Math.sqrt(mean(means.map((value) => (value - retriever.meanNdcg) ** 2)));
    expect(spread).toBeGreaterThan(0.04);
    expect(spread).toBeLessThan(0.06);
  });

  it('redraws the ranks of some queries each night, and flips some in each run', () => {
    const random = randomNumbers(7);
    const retriever = drawRetriever(5000, random);
    const changedIn = (ndcg: Float64Array) =>
      ndcg.filter((score, query) => score !== retriever.scores.ndcg[query]).length / 5000;
    const night = rebuilt(retriever, { redraw: 0.1, shared: 0 }, random);
    // By chance, about three in ten redrawn queries get the same rank as before.
    expect(changedIn(night.scores.ndcg)).toBeCloseTo(0.07, 1);
    expect(changedIn(runOnce(retriever, { ...still, flips: 0.1 }, random).ndcg)).toBeCloseTo(0.07, 1);
    expect(changedIn(runOnce(retriever, still, random).ndcg)).toBe(0);
  });

  it('of three replicas has the results of one replica, or of a random replica for each query', () => {
    const random = randomNumbers(9);
    const retriever = drawRetriever(300, random);
    const answersOf = (replicas: 'each run' | 'each query') =>
      new Set(Array.from({ length: 60 }, () => runOnce(retriever, { ...still, replicas }, random).ndcg.join())).size;
    expect(answersOf('each run')).toBe(3);
    expect(answersOf('each query')).toBeGreaterThan(50);
  });
});

describe('the quick simulation of golden runs', () => {
  const { unchanged, dropped, provenance } = measureGolden(true, 1, () => {});

  it('has every kind of noise with both measures, and every kind of drop', () => {
    expect(unchanged).toHaveLength(2 * noiseLevels.length);
    expect(dropped).toHaveLength(3 * noiseLevels.length);
    expect(provenance).toMatchObject({
      command: 'npx tsx bench/golden-false-regressions.ts',
      seed: expect.any(Number),
    });
  });

  it('never reports a regression of a retriever with constant results', () => {
    const still = unchanged.filter(({ noise }) => noise === 'none');
    expect(still.map(({ most, noiseOfDifference }) => [most, noiseOfDifference])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('returns the same numbers when repeated', () => {
    expect(measureGolden(true, 1, () => {})).toMatchObject({ unchanged, dropped });
  });
});

describe('the bounds of a count', () => {
  it('have an upper limit above zero for events that did not happen', () => {
    expect(meanWithBounds([0, 0, 0, 0])).toMatchObject({ mean: 0, low: 0 });
    expect(meanWithBounds([0, 0, 0, 0]).high).toBeCloseTo(Math.log(20) / 4, 12);
    expect(shareWithBounds(0, 10)).toMatchObject({ share: 0, low: 0 });
    expect(shareWithBounds(0, 10).high).toBeGreaterThan(0.2);
  });

  it('contain the mean of observed counts', () => {
    const counts = [0, 0, 1, 0, 2, 0, 0, 1, 0, 0, 0, 4];
    const { mean: centre, low, high } = meanWithBounds(counts);
    expect(centre).toBeCloseTo(8 / 12, 12);
    expect(low).toBeLessThan(centre);
    expect(high).toBeGreaterThan(centre);
  });

  it('of rare events equal those of the Poisson distribution', () => {
    // 3.6888795 = -ln 0.025; 0.6186721 and 8.7672731 are the limits of three events in the tables of Garwood.
    expect(rateWithBounds(0, 10)).toMatchObject({ perYear: 0, low: 0 });
    expect(rateWithBounds(0, 10).high).toBeCloseTo(0.368887945, 8);
    expect(rateWithBounds(3, 10).low).toBeCloseTo(0.061867212, 8);
    expect(rateWithBounds(3, 10).high).toBeCloseTo(0.876727, 6);
  });
});
