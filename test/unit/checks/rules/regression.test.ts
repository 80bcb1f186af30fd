import { describe, expect, it } from 'vitest';
import {
  type BaselineDifference,
  type ComparedWithBaseline,
  judgeRegression,
  type RegressionCheck,
} from '../../../../src/checks/rules/regression.ts';

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

describe('the check on a regression', () => {
  it('fires when a fall that matters is significant in as many runs in a row as it takes', () => {
    const result = judgeRegression(check, 'faq', aRun(), [aRun()]);
    expect(result).toEqual({
      name: 'ndcg@10 regression by 0.02 on faq',
      severity: 'critical',
      verdict: 'critical',
      value: -0.05,
      threshold: -0.02,
      explanation:
        'ndcg@10 against the baseline -0.0500 (95 % -0.0700 to -0.0300, p = 0.0002, n = 300, 10 better, 60 worse): it fell by 0.0200 or more in 2 runs in a row.',
    });
  });

  it('waits for its confirmation', () => {
    const result = judgeRegression(check, 'faq', aRun(), [aRun(steady)]);
    expect(result).toMatchObject({ verdict: 'ok' });
    expect(result.explanation).toContain('a fall, in 1 of the 2 runs in a row that it takes.');
  });

  it.each([
    ['a fall that is too small to matter', { difference: -0.01, ciLow: -0.015, ciHigh: -0.005 }],
    ['a fall that may be luck', { p: 0.02 }],
    ['a rise', { difference: 0.05, ciLow: 0.03, ciHigh: 0.07 }],
    ['no change at all', steady],
  ])('stays quiet on %s', (_, parts) => {
    expect(judgeRegression(check, 'faq', aRun(parts), [aRun(parts)]).verdict).toBe('ok');
  });

  it('starts to count anew when another baseline is pinned', () => {
    expect(judgeRegression(check, 'faq', aRun({}, 'baseline-2'), [aRun({}, 'baseline-1')]).verdict).toBe('ok');
  });

  it('says when the set is too small to show what it watches for', () => {
    const blind = { ...steady, smallestDetectableDifference: 0.08 };
    expect(judgeRegression(check, 'faq', aRun(blind), []).explanation).toContain(
      'The set would show a fall of 0.0800 at the least, which is more than the 0.0200 watched for.',
    );
  });

  it('has no data, and says why, without a comparison or without its measure in it', () => {
    expect(judgeRegression(check, 'faq', 'No baseline is pinned.', [])).toMatchObject({
      verdict: 'no_data',
      value: null,
      explanation: 'No baseline is pinned.',
    });
    const other = aRun({ key: { measure: 'mrr', k: 10 } });
    expect(judgeRegression(check, 'faq', other, [])).toMatchObject({ verdict: 'no_data' });
  });
});
