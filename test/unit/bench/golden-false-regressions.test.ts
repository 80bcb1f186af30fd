import { describe, expect, it } from 'vitest';
import { meanWithBounds, rateWithBounds, shareWithBounds } from '../../../bench/bounds.ts';
import { noiseLevels } from '../../../bench/golden/false-regressions.ts';
import { damage, drawRetriever, runOnce } from '../../../bench/golden/noisy-retriever.ts';
import { defaultCheck, RERUNS, startWatch } from '../../../bench/golden/watched-stream.ts';
import { measureGolden } from '../../../bench/golden-false-regressions.ts';
import { randomNumbers } from '../../../bench/random-numbers.ts';
import { type ComparedWithBaseline, judgeRegression } from '../../../src/checks/rules/regression.ts';
import { storedComparison } from '../../../src/golden/rules/compare-golden-runs.ts';
import { compareMetric } from '../../../src/golden/rules/compare-metric.ts';
import { rerunNoise } from '../../../src/golden/rules/rerun-noise.ts';
import { mean } from '../../../src/stats/descriptive.ts';

describe('a simulated stream of golden runs', () => {
  it.each(noiseLevels)('is judged as the daemon would with every comparison made: $name', (noise) => {
    const verdicts: boolean[] = [];
    for (let seed = 1; seed <= 3; seed++) {
      const random = randomNumbers(seed);
      const retriever = drawRetriever(60, random);
      const damaged = damage(retriever, 0.25, 0, random);
      const reruns = Array.from({ length: RERUNS }, () => runOnce(retriever, noise, random).ndcg);
      const watch = startWatch('ndcg', reruns);
      const check = { ...defaultCheck, measure: 'ndcg@10' };
      let history: ComparedWithBaseline[] = [];
      for (let run = 0; run < 12; run++) {
        const { ndcg } = runOnce(run < 4 ? retriever : damaged, noise, random);
        const metric = compareMetric(
          { measure: 'ndcg', k: 10 },
          reruns.at(-1) ?? [],
          ndcg,
          rerunNoise(reruns),
          storedComparison,
        );
        const current = { runId: `${run}`, baselineRunId: 'baseline', metrics: [metric] };
        const isBreached = judgeRegression(check, 'set', current, history).verdict === 'critical';
        history = [current];
        expect(watch.judge(ndcg)).toBe(isBreached);
        verdicts.push(isBreached);
      }
    }
    if (noise.shared < 0.02) expect(verdicts).toContain(true);
    expect(verdicts).toContain(false);
  });

  it('falls by the drop that was asked for, with and without churn', () => {
    const random = randomNumbers(3);
    for (const churn of [0, 0.1]) {
      const before = drawRetriever(300, random);
      const fall = before.meanNdcg - damage(before, 0.05, churn, random).meanNdcg;
      expect(fall).toBeGreaterThanOrEqual(0.05 - 1e-9);
      expect(fall).toBeLessThan(0.05 + 1 / 300);
    }
  });

  it('moves by what its queries share', () => {
    const random = randomNumbers(5);
    const retriever = drawRetriever(1000, random);
    const noise = { name: 'swaying', restless: 0, shared: 0.05 };
    const means = Array.from({ length: 400 }, () => mean(runOnce(retriever, noise, random).ndcg));
    const spread = Math.sqrt(mean(means.map((value) => (value - retriever.meanNdcg) ** 2)));
    expect(spread).toBeGreaterThan(0.04);
    expect(spread).toBeLessThan(0.06);
  });
});

describe('the quick simulation of golden runs', () => {
  const { unchanged, dropped, provenance } = measureGolden(true, 1, () => {});

  it('has every noise with both measures, and both kinds of drop', () => {
    expect(unchanged).toHaveLength(2 * noiseLevels.length);
    expect(dropped).toHaveLength(2 * noiseLevels.length);
    expect(provenance).toMatchObject({
      command: 'npx tsx bench/golden-false-regressions.ts',
      seed: expect.any(Number),
    });
  });

  it('never calls a retriever that always answers the same', () => {
    const still = unchanged.filter(({ noise }) => noise === 'none');
    expect(still.map(({ most, noiseOfDifference }) => [most, noiseOfDifference])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('comes to the same figures again', () => {
    expect(measureGolden(true, 1, () => {})).toMatchObject({ unchanged, dropped });
  });
});

describe('the bounds of a count', () => {
  it('leave room for what did not happen yet', () => {
    expect(meanWithBounds([0, 0, 0, 0])).toMatchObject({ mean: 0, low: 0 });
    expect(meanWithBounds([0, 0, 0, 0]).high).toBeCloseTo(Math.log(20) / 4, 12);
    expect(shareWithBounds(0, 10)).toMatchObject({ share: 0, low: 0 });
    expect(shareWithBounds(0, 10).high).toBeGreaterThan(0.2);
  });

  it('hold the mean of counts that did happen', () => {
    const counts = [0, 0, 1, 0, 2, 0, 0, 1, 0, 0, 0, 4];
    const { mean: centre, low, high } = meanWithBounds(counts);
    expect(centre).toBeCloseTo(8 / 12, 12);
    expect(low).toBeLessThan(centre);
    expect(high).toBeGreaterThan(centre);
  });

  it('of rare events are those of the Poisson distribution', () => {
    // 3.6888795 = -ln 0.025; 0.6186721 and 8.7672731 are the limits of three events in the tables of Garwood.
    expect(rateWithBounds(0, 10)).toMatchObject({ perYear: 0, low: 0 });
    expect(rateWithBounds(0, 10).high).toBeCloseTo(0.368887945, 8);
    expect(rateWithBounds(3, 10).low).toBeCloseTo(0.061867212, 8);
    expect(rateWithBounds(3, 10).high).toBeCloseTo(0.876727, 6);
  });
});
