import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../../../src/checks/check-store.ts';
import type { ConfiguredCheck } from '../../../../src/checks/rules/check-state.ts';
import { type EvaluatedRun, evaluate, factsOfReadings, factsOfRun } from '../../../../src/checks/rules/evaluate.ts';
import type { CheckResult, ThresholdCheck } from '../../../../src/checks/rules/threshold.ts';
import { hours } from '../../../support/measurements.ts';

const check: ConfiguredCheck = {
  kind: 'floor',
  measure: 'ndcg@10',
  pipeline: 'docs',
  goldenSet: 'faq',
  name: 'quality on faq',
  severity: 'critical',
  threshold: 0.8,
  isQuietAtFirst: false,
};

const result: CheckResult = {
  name: 'quality on faq',
  severity: 'critical',
  threshold: 0.75,
  verdict: 'critical',
  value: 0.5,
  ciLow: 0.4,
  ciHigh: 0.6,
  n: 40,
  isBeyond: true,
  explanation: 'It is 0.5.',
};

const run = (hour: number, parts: Partial<EvaluatedRun> = {}): EvaluatedRun => ({
  checks: [result],
  evidence: { from: hours(hour), until: hours(hour) },
  failure: null,
  baseline: null,
  trustedSeconds: 7200,
  ...parts,
});

describe('the evaluation of a check', () => {
  it('uses the verdict of a golden run, with the threshold that the run applied', () => {
    const status = evaluate(check, factsOfRun(check, run(1)), null, hours(1));
    expect(status).toMatchObject({ verdict: 'critical', threshold: 0.75, since: hours(1), breachedSince: hours(1) });
    expect(evaluate(check, factsOfRun(check, run(1)), status, hours(2))).toEqual({
      ...status,
      updatedAt: hours(2),
    });
  });

  it('has no data once the run is too old to trust, and states its last verdict', () => {
    const before = evaluate(check, factsOfRun(check, run(1)), null, hours(1));
    const status = evaluate(check, factsOfRun(check, run(1)), before, hours(4));
    expect(status).toMatchObject({ verdict: 'no_data', lastKnown: 'critical', since: hours(4), isQuiet: false });
    expect(reasonOf({ previous: null, status })).toBe('The last evaluation is too old to trust: It is 0.5.');
  });

  it('keeps its threshold through a failed run, and states why the run failed', () => {
    const before = evaluate(check, factsOfRun(check, run(1)), null, hours(1));
    const failed = run(2, { checks: [], failure: 'The run failed.' });
    const status = evaluate(check, factsOfRun(check, failed), before, hours(2));
    expect(status).toMatchObject({ verdict: 'no_data', threshold: 0.75, explanation: 'The run failed.' });
    expect(status.breachedSince).toEqual(hours(1));
  });

  it('has the configured threshold and no data before the first run', () => {
    expect(evaluate(check, factsOfRun(check, null), null, hours(0))).toMatchObject({
      verdict: 'no_data',
      threshold: 0.8,
      explanation: null,
      trustedUntil: null,
    });
  });

  it('confirms a breach over several measurements, and counts each measurement once', () => {
    const rule: ThresholdCheck = {
      measure: 'error_ratio',
      threshold: 0.05,
      severity: 'critical',
      segments: 'all',
      minN: 1,
      confirm: 2,
      noData: 'silent',
    };
    const errors: ConfiguredCheck = { ...check, kind: 'threshold', measure: 'error_ratio', goldenSet: null };
    const at = (hour: number, value: number) =>
      factsOfReadings(
        rule,
        [{ kind: 'value', segment: 'all', value, ciLow: value, ciHigh: value, n: 100 }],
        { from: hours(hour), until: hours(hour) },
        hours(hour),
      );
    const good = evaluate(errors, at(0, 0.01), null, hours(0));
    const once = evaluate(errors, at(1, 0.2), good, hours(1));
    expect([good.verdict, once.verdict, once.seen]).toEqual(['ok', 'ok', 1]);
    expect(evaluate(errors, at(1, 0.2), once, hours(1))).toMatchObject({ verdict: 'ok', seen: 1 });
    expect(evaluate(errors, at(2, 0.2), once, hours(2))).toMatchObject({ verdict: 'critical', before: 0.01 });
  });
});
