import { describe, expect, it } from 'vitest';
import {
  evidenceOfTests,
  type GoldenTest,
  isTestDue,
  levelOfTest,
  statusOfTests,
} from '../../../../src/experiments/rules/golden-tests.ts';

function aTest(parts: Partial<GoldenTest> = {}): GoldenTest {
  return {
    number: 1,
    goldenSetVersion: 1,
    runId: 'r1',
    against: 'p1',
    runs: 1,
    k: 10,
    n: 300,
    baseline: 0.8,
    candidate: 0.79,
    difference: -0.01,
    ciLow: -0.03,
    ciHigh: 0.01,
    ciMethod: 't',
    p: 0.3,
    alpha: 0.005,
    standardDeviation: 0.2,
    noise: null,
    smallestDetectableDifference: 0.042,
    verdict: 'inconclusive',
    ...parts,
  };
}

describe('tests of a shadow', () => {
  it('share a false positive rate of 0.01 across all golden sets, however many tests run', () => {
    const levels = Array.from({ length: 60 }, (_, i) => levelOfTest(i + 1, 3));
    expect(levels[0]).toBeCloseTo(0.01 / 6, 12);
    expect(3 * levels.reduce((sum, level) => sum + level, 0)).toBeLessThanOrEqual(0.01 + 1e-12);
  });

  it('are due each time the number of runs has doubled: after 1, 2, 4, 8, 16, 32 and 64', () => {
    const due: number[] = [];
    for (let runs = 1; runs <= 200; runs++) if (isTestDue(runs, due.length)) due.push(runs);
    expect(due).toEqual([1, 2, 4, 8, 16, 32, 64]);
  });

  it('have the verdict of the first decisive test, whatever later tests show', () => {
    const tests = [aTest(), aTest({ number: 2, verdict: 'regression' }), aTest({ number: 3, verdict: 'no_change' })];
    expect(statusOfTests(tests)).toEqual({ verdict: 'regression', by: tests[1] });
    expect(statusOfTests([tests[0], tests[2]].flatMap((one) => one ?? []))).toEqual({
      verdict: 'no_change',
      by: tests[2],
    });
    expect(statusOfTests([])).toEqual({ verdict: 'no_data', by: null });
  });
});

describe('enough evidence', () => {
  it('is available when the latest test would have detected the difference', () => {
    expect(evidenceOfTests([aTest({ standardDeviation: 0.12 })], 0.03, 1)).toEqual({ state: 'enough' });
  });

  it('is not forecast after a verdict', () => {
    expect(evidenceOfTests([aTest({ verdict: 'regression' }), aTest({ number: 2 })], 0.03, 1)).toEqual({
      state: 'decided',
    });
  });

  it('is not forecast before the noise is known', () => {
    expect(evidenceOfTests([], 0.03, 1)).toEqual({ state: 'unknown' });
    expect(evidenceOfTests([aTest()], 0.03, 1)).toEqual({ state: 'unknown' });
  });

  it('is forecast for the day on which more runs will have averaged out the noise', () => {
    // With deviations of 0.05 between queries and 0.28 between runs, the 5th test detects (3.60 + 1.28) (0.05^2 +
    // 0.28^2 / 16)^.5 / 300^.5 = 0.0243.
    const second = aTest({ number: 2, runs: 2, standardDeviation: Math.hypot(0.05, 0.28 / Math.SQRT2), noise: 0.28 });
    const sixteen = evidenceOfTests([aTest(), second], 0.025, 1);
    expect(sixteen).toEqual({ state: 'days', days: 14 });
  });

  it('requires more queries if the queries differ too much from one another', () => {
    const second = aTest({ number: 2, runs: 2, standardDeviation: 0.3, noise: 0 });
    const evidence = evidenceOfTests([aTest(), second], 0.03, 1);
    expect(evidence.state).toBe('more_questions');
    // At a two-sided level of 0.00125, (3.23 + 1.28)^2 0.09 / 0.0009 queries are required.
    expect(evidence.state === 'more_questions' && evidence.questions).toBeGreaterThan(2000);
    expect(evidence.state === 'more_questions' && evidence.questions).toBeLessThan(2070);
  });
});
