import { describe, expect, it } from 'vitest';
import {
  type BaselineDifference,
  type ComparedWithBaseline,
  isBlind,
  type RegressionCheck,
} from '../../../../src/checks/rules/regression.ts';
import { NO_SHIFT } from '../../../../src/checks/rules/threshold.ts';
import type { Verdict } from '../../../../src/core/model.ts';
import { evaluateRegression } from '../../../support/judge-check.ts';

const check: RegressionCheck = {
  measure: 'ndcg@10',
  drop: 0.02,
  alpha: 0.01,
  severity: 'critical',
  runs: 2,
};

function aDifference(parts: Partial<BaselineDifference> = {}): BaselineDifference {
  return {
    key: { measure: 'ndcg', k: 10 },
    n: 300,
    difference: -0.05,
    ciLow: -0.07,
    ciHigh: -0.03,
    ciMethod: 't',
    p: 0.0002,
    wins: 10,
    losses: 60,
    smallestDetectableDifference: 0.015,
    ...parts,
  };
}

let runs = 0;
function aRun(parts: Partial<BaselineDifference> = {}, baselineRunId = 'baseline-1'): ComparedWithBaseline {
  return { runId: `run-${(runs += 1)}`, baselineRunId, metrics: [aDifference(parts)] };
}
const steady = { difference: 0, ciLow: 0, ciHigh: 0, p: 1, wins: 0, losses: 0 };

describe('the regression check', () => {
  it('fires if a relevant drop is significant in the required number of consecutive runs', () => {
    const result = evaluateRegression(check, aRun(), [aRun()]);
    expect(result).toEqual({
      name: 'ndcg@10 regression by 0.02 on faq',
      severity: 'critical',
      verdict: 'critical',
      value: -0.05,
      ciLow: -0.07,
      ciHigh: -0.03,
      n: 300,
      isBeyond: true,
      smallestDetectableDrop: 0.02,
      threshold: -0.02,
      explanation:
        'ndcg@10 −0.05 against the baseline (95 % CI −0.07 to −0.03, p < 0.001, n = 300, 10 better, 60 worse): a drop of 0.02 or more in 2 consecutive runs.',
    });
  });

  it('states that it compares the run with the mean of several baseline runs', () => {
    const result = evaluateRegression(check, aRun({ ciMethod: 'reruns' }), [aRun({ ciMethod: 'reruns' })]);
    expect(result.explanation).toContain('against the mean of the baseline runs');
  });

  it('does not fire until the required number of runs confirms the drop', () => {
    const result = evaluateRegression(check, aRun(), [aRun(steady)]);
    expect(result).toMatchObject({ verdict: 'ok', isBeyond: true });
    expect(result.explanation).toContain('a drop in 1 run, not confirmed yet (2 consecutive runs required).');
  });

  it.each([
    ['a drop that is too small to matter', { difference: -0.01, ciLow: -0.015, ciHigh: -0.005 }],
    ['a drop that may be due to chance', { p: 0.021 }],
    ['an increase', { difference: 0.05, ciLow: 0.03, ciHigh: 0.07 }],
    ['no change at all', steady],
  ])('does not fire on %s', (_, parts) => {
    expect(evaluateRegression(check, aRun(parts), [aRun(parts)]).verdict).toBe('ok');
  });

  it('is one-sided: a drop is significant if its two-sided p-value is below twice alpha', () => {
    expect(evaluateRegression(check, aRun({ p: 0.019 }), [aRun({ p: 0.019 })]).verdict).toBe('critical');
  });

  it('is resolved after the same number of consecutive runs without a drop, so that alternating runs are one incident', () => {
    const after = (current: ComparedWithBaseline, before: ComparedWithBaseline, previous: Verdict) =>
      evaluateRegression(check, current, [before], NO_SHIFT, previous);
    const first = after(aRun(steady), aRun(), 'critical');
    expect(first).toMatchObject({ verdict: 'critical', isBeyond: false });
    expect(first.explanation).toContain(
      'no drop in 1 run, not resolved yet (2 consecutive runs without a drop required).',
    );
    expect(after(aRun(), aRun(steady), 'critical')).toMatchObject({ verdict: 'critical', isBeyond: true });
    expect(after(aRun(steady), aRun(steady), 'critical').verdict).toBe('ok');
    expect(after(aRun(steady), aRun(steady), 'ok').verdict).toBe('ok');
  });

  it('is resolved when another baseline is pinned', () => {
    const repinned = evaluateRegression(check, aRun(steady, 'baseline-2'), [aRun()], NO_SHIFT, 'critical');
    expect(repinned.verdict).toBe('ok');
  });

  it('starts counting again when another baseline is pinned', () => {
    expect(evaluateRegression(check, aRun({}, 'baseline-2'), [aRun({}, 'baseline-1')]).verdict).toBe('ok');
  });

  it('states that the golden set is too small to detect the configured drop', () => {
    const blind = { ...steady, smallestDetectableDifference: 0.08 };
    const result = evaluateRegression(check, aRun(blind), []);
    // 0.08 is the drop at a two-sided level of 5 %; the factor is (z of 0.99 + z of 0.8) / (z of 0.975 + z of 0.8).
    expect(result.smallestDetectableDrop).toBeCloseTo(0.08 * 1.13079, 4);
    expect(isBlind(result)).toBe(true);
    expect(result.explanation).toContain('Blind: the check can detect only');
  });

  it('is blind only while it passes, and only if it cannot detect twice the drop', () => {
    const evaluated = (smallestDetectableDifference: number | null, parts: Partial<BaselineDifference> = steady) =>
      evaluateRegression(check, aRun({ ...parts, smallestDetectableDifference }), [aRun(parts)]);
    expect(isBlind(evaluated(0.03))).toBe(false);
    expect(isBlind(evaluated(0.04))).toBe(true);
    expect(isBlind(evaluated(null))).toBe(false);
    expect(evaluated(0.2, {})).toMatchObject({ verdict: 'critical' });
    expect(isBlind(evaluated(0.2, {}))).toBe(false);
  });

  it('states that more queries got worse than better, even if the mean shows no relevant drop', () => {
    const oneWay = { difference: -0.01, ciLow: -0.015, ciHigh: -0.005, p: 0.001, wins: 0, losses: 43, n: 160 };
    const { verdict, explanation } = evaluateRegression(check, aRun(oneWay), []);
    expect(verdict).toBe('ok');
    expect(explanation).toContain('more queries got worse than got better');
  });

  it('has no data without a comparison, or if the comparison lacks its measure', () => {
    expect(evaluateRegression(check, 'No baseline is pinned.', [])).toMatchObject({
      verdict: 'no_data',
      value: null,
      explanation: 'No baseline is pinned.',
    });
    const other = aRun({ key: { measure: 'mrr', k: 10 } });
    expect(evaluateRegression(check, other, [])).toMatchObject({ verdict: 'no_data' });
  });
});
