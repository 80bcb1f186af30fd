import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RegressionCheck } from '../../../../src/checks/rules/regression.ts';
import { shiftOf } from '../../../../src/checks/rules/threshold.ts';
import { byKey, describeLevels, overlapLevels, rotationShifts } from '../../../../src/golden/rules/rotation.ts';
import { aFloor, aScore, goldenChecks } from '../../../support/builders.ts';
import { aDifference } from '../../../support/golden-runs.ts';
import { evaluateFloor, evaluateRegression } from '../../../support/judge-check.ts';

const severities = ['ok', 'warning', 'critical'];
const anyScore = fc
  .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 0.3, noNaN: true }))
  .map(([mean, width]) => aScore({ mean, ciLow: mean - width, ciHigh: mean + width }));

describe('the thresholds after a rotation', () => {
  it('keep their distance from the scores', () => {
    const pairs = [{ from: [aScore({ mean: 0.9, ciHigh: 0.95 })], to: [aScore({ mean: 0.6, ciHigh: 0.65 })] }];
    const shifts = rotationShifts(goldenChecks({ floors: [aFloor()] }), 'faq', pairs, null, null);
    const { mean, upper } = shiftOf(shifts, 'ndcg@10 below 0.8 on faq');
    expect(mean).toBeCloseTo(-0.3, 12);
    expect(upper).toBeCloseTo(-0.3, 12);
    const judged = evaluateFloor(aFloor(), [aScore({ mean: 0.6 })], { mean, upper });
    expect(judged).toMatchObject({
      verdict: 'ok',
      explanation: expect.stringContaining('0.8 before the golden set changed'),
    });
    expect(judged.threshold).toBeCloseTo(0.5, 12);
  });

  it('still detect a real regression', () => {
    const pairs = [{ from: [aScore({ mean: 0.9 })], to: [aScore({ mean: 0.6, ciHigh: 0.65 })] }];
    const shifts = rotationShifts(goldenChecks({ floors: [aFloor()] }), 'faq', pairs, null, null);
    const shift = shiftOf(shifts, 'ndcg@10 below 0.8 on faq');
    const fallen = evaluateFloor(aFloor(), [aScore({ mean: 0.4, ciHigh: 0.45 })], shift);
    expect(fallen.verdict).toBe('critical');
  });

  it('are never stricter for the new version than for the old one in any overlapping run', () => {
    const anyPairs = fc.array(fc.record({ from: anyScore, to: anyScore }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(anyPairs, fc.double({ min: 0.01, max: 1, noNaN: true }), (scores, below) => {
        const check = aFloor({ below });
        const pairs = scores.map(({ from, to }) => ({ from: [from], to: [to] }));
        const shifts = rotationShifts(goldenChecks({ floors: [check] }), 'faq', pairs, null, null);
        const shift = shiftOf(shifts, `ndcg@10 below ${below} on faq`);
        for (const { from, to } of pairs) {
          const before = severities.indexOf(evaluateFloor(check, from).verdict);
          const after = severities.indexOf(evaluateFloor(check, to, shift).verdict);
          expect(after).toBeLessThanOrEqual(before);
        }
      }),
    );
  });
});

describe('the regressions after a rotation', () => {
  const check: RegressionCheck = {
    measure: 'ndcg@10',
    drop: 0.02,
    alpha: 0.01,
    severity: 'critical',
    runs: 1,
  };
  const name = 'ndcg@10 regression by 0.02 on faq';
  const checks = goldenChecks({ regressions: [check] });
  const against = (difference: number, p: number) => ({
    runId: 'r',
    baselineRunId: 'b',
    metrics: [aDifference({ difference, p, ciLow: difference - 0.01, ciHigh: difference + 0.01 })],
  });

  it('are measured from the level of the new version if the old version had not regressed', () => {
    const overlap = { from: against(-0.005, 0.4), to: against(-0.03, 0.001) };
    const shift = shiftOf(rotationShifts(checks, 'faq', [], overlap.from, overlap.to), name);
    expect(evaluateRegression(check, overlap.to, []).verdict).toBe('critical');
    expect(evaluateRegression(check, overlap.to, [], shift)).toMatchObject({
      verdict: 'ok',
      explanation: expect.stringContaining('comes from the new version of the golden set'),
    });
    expect(evaluateRegression(check, against(-0.06, 0.001), [], shift).verdict).toBe('critical');
  });

  it('are still reported if the old version had regressed too', () => {
    const overlap = { from: against(-0.04, 0.001), to: against(-0.05, 0.001) };
    expect(rotationShifts(checks, 'faq', [], overlap.from, overlap.to)).toEqual({});
  });

  it('are never caused by the rotation itself', () => {
    const any = fc.tuple(fc.double({ min: -0.5, max: 0.5, noNaN: true }), fc.constantFrom(0.0001, 0.5));
    fc.assert(
      fc.property(any, any, ([before, p], [after, q]) => {
        const overlap = { from: against(before, p), to: against(after, q) };
        fc.pre(evaluateRegression(check, overlap.from, []).verdict === 'ok');
        const shift = shiftOf(rotationShifts(checks, 'faq', [], overlap.from, overlap.to), name);
        expect(evaluateRegression(check, overlap.to, [], shift).verdict).toBe('ok');
      }),
    );
  });
});

describe('the overlap of two versions', () => {
  it('contains the mean level of each version for each metric', () => {
    const levels = overlapLevels([
      { from: [aScore({ mean: 0.75 })], to: [aScore({ mean: 0.5 })] },
      { from: [aScore({ mean: 0.25 })], to: [aScore({ mean: 0.75 })] },
    ]);
    expect(levels).toEqual({ 'ndcg@10': { from: 0.5, to: 0.625 } });
  });

  it('omits segments, and metrics that one version lacks', () => {
    const from = [aScore(), aScore({ segment: 'language=de' }), aScore({ measure: 'mrr' })];
    expect(Object.keys(overlapLevels([{ from, to: [aScore()] }]))).toEqual(['ndcg@10']);
    expect([...byKey(from).keys()]).toEqual(['ndcg@10', 'mrr@10']);
  });

  it('is described in one sentence', () => {
    const levels = { 'ndcg@10': { from: 0.8, to: 0.75 } };
    expect(describeLevels(levels, 'ndcg@10')).toBe(
      'At the scheduled times when runs of both versions completed, the mean ndcg@10 was 0.8 for the old version and 0.75 for the new one (−0.05).',
    );
    expect(describeLevels({}, 'ndcg@10')).toBe('The versions have no metric in common.');
  });
});
