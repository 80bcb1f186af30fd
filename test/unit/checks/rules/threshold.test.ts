import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  evaluateThreshold,
  type Reading,
  type ThresholdCheck,
  thresholdCheckName,
} from '../../../../src/checks/rules/threshold.ts';
import { wilsonInterval } from '../../../../src/math/stats/intervals.ts';

const errors: ThresholdCheck = {
  measure: 'error_ratio',
  threshold: 0.05,
  severity: 'critical',
  segments: 'all',
  minN: 100,
  confirm: 3,
  noData: 'silent',
};
const feedback: ThresholdCheck = { ...errors, measure: 'feedback_positive_ratio', threshold: 0.6, minN: 30 };

function reading(value: number, n: number, segment = 'all'): Reading {
  const { low, high } = wilsonInterval(value, n, 0.95);
  return { kind: 'value', segment, value, ciLow: low, ciHigh: high, n };
}

describe('a threshold', () => {
  it.each([
    [errors, reading(0.04, 500), 'ok'],
    [errors, reading(0.05, 500), 'ok'],
    [errors, reading(0.06, 500), 'warning'],
    [errors, reading(0.1, 500), 'critical'],
    [{ ...errors, severity: 'warning' }, reading(0.1, 500), 'warning'],
    [feedback, reading(0.6, 100), 'ok'],
    [feedback, reading(0.55, 100), 'warning'],
    [feedback, reading(0.4, 100), 'critical'],
  ] as const)('of %j on the reading %j has the verdict %s', (check, one, verdict) => {
    expect(evaluateThreshold(check, [one]).verdict).toBe(verdict);
  });

  it('explains the verdict with numbers', () => {
    expect(evaluateThreshold(errors, [reading(0.1, 500)]).explanation).toBe(
      'The share of live queries that failed or timed out is 10 % (95 % CI 7.7-13 %, n = 500); even the lower bound is above 5 %.',
    );
    expect(evaluateThreshold(feedback, [reading(0.55, 100)]).explanation).toBe(
      'The share of positive feedback is 55 % (95 % CI 45-64 %, n = 100), below 60 %; the difference may be due to chance.',
    );
  });

  it('names the worst of the segments with enough data', () => {
    const each: ThresholdCheck = { ...errors, segments: 'each' };
    const found = evaluateThreshold(each, [
      reading(0.02, 5000),
      reading(0.5, 20, 'tenant=tiny'),
      reading(0.3, 400, 'tenant=acme'),
      reading(0.08, 400, 'tenant=other'),
    ]);
    expect(found).toMatchObject({ verdict: 'critical', segment: 'tenant=acme', value: 0.3 });
    expect(found.explanation).toContain('This value is the worst of 3 segments; 2 are beyond the threshold.');
    expect(thresholdCheckName(each)).toBe('error_ratio above 0.05 in each segment');
  });

  it('does not page if the worst of many segments may be due to chance', () => {
    const one = reading(0.08, 400, 'tenant=acme');
    const each: ThresholdCheck = { ...errors, segments: 'each' };
    expect(evaluateThreshold(each, [one]).verdict).toBe('critical');
    const many = Array.from({ length: 40 }, (_, index) => reading(0.04, 400, `tenant=${index}`));
    expect(evaluateThreshold(each, [one, ...many]).verdict).toBe('warning');
  });

  it('distinguishes missing traffic from a fault', () => {
    const quiet: Reading = { kind: 'quiet', segment: 'all', reason: 'no_queries' };
    const unknown: Reading = { kind: 'unknown', segment: 'all', reason: 'its job failed' };
    expect(evaluateThreshold(errors, [quiet])).toMatchObject({ verdict: 'no_data', isQuiet: true });
    expect(evaluateThreshold(errors, [reading(0.9, 99)])).toMatchObject({ verdict: 'no_data', isQuiet: true });
    expect(evaluateThreshold(errors, [unknown])).toMatchObject({ verdict: 'no_data', isQuiet: false });
    expect(evaluateThreshold(errors, [])).toMatchObject({ verdict: 'no_data', isQuiet: false });
  });

  it('treats a value without an interval as exact', () => {
    const age: ThresholdCheck = { ...errors, measure: 'golden_run_age_seconds', threshold: 3600, minN: 0 };
    const exact = (value: number): Reading => ({
      kind: 'value',
      segment: 'golden_set=faq',
      value,
      ciLow: null,
      ciHigh: null,
      n: 0,
    });
    expect(evaluateThreshold(age, [exact(3601)])).toMatchObject({
      verdict: 'critical',
      explanation: 'The time since the last completed golden run on faq is 3601 s, above 1 h.',
    });
    expect(evaluateThreshold(age, [exact(3300)])).toMatchObject({ verdict: 'ok', isClear: false });
    expect(evaluateThreshold(age, [exact(3000)])).toMatchObject({ verdict: 'ok', isClear: true });
  });

  it('ends a breach if no query fails, even if the queries are too few to prove that the share is below the threshold', () => {
    const strict: ThresholdCheck = { ...errors, threshold: 0.01, minN: 30 };
    expect(evaluateThreshold(strict, [reading(0, 40)])).toMatchObject({ verdict: 'ok', isClear: true });
    expect(evaluateThreshold(strict, [reading(1 / 200, 200)])).toMatchObject({ verdict: 'ok', isClear: false });
    const strictFeedback: ThresholdCheck = { ...feedback, threshold: 0.95 };
    expect(evaluateThreshold(strictFeedback, [reading(1, 30)])).toMatchObject({ verdict: 'ok', isClear: true });
    expect(evaluateThreshold(strictFeedback, [reading(0.96, 30)])).toMatchObject({ verdict: 'ok', isClear: false });
  });

  it('is never worse for a better value with the same sample size', () => {
    const rank = (verdict: string) => ['ok', 'warning', 'critical'].indexOf(verdict);
    const share = fc.integer({ min: 0, max: 300 });
    fc.assert(
      fc.property(share, share, (a, b) => {
        const [less, more] = [Math.min(a, b) / 300, Math.max(a, b) / 300];
        const verdictOf = (value: number) => rank(evaluateThreshold(errors, [reading(value, 300)]).verdict);
        expect(verdictOf(less)).toBeLessThanOrEqual(verdictOf(more));
      }),
    );
  });
});
