import { describe, expect, it } from 'vitest';
import { alertHeadline, recoveryText } from '../../../../src/checks/rules/alert-text.ts';
import type { CheckState } from '../../../../src/checks/rules/check-state.ts';
import { aCheckState } from '../../../support/check-states.ts';

const live = { kind: 'threshold', goldenSet: null } as const;
const latency = { ...live, measure: 'retriever_latency_p95_seconds', threshold: 0.25 } as const;
const regression = { kind: 'regression', threshold: -0.02 } as const;

describe('the headline of an alert', () => {
  it.each<[string, Partial<CheckState>]>([
    ['nDCG@10 on faq 0.551, below 0.7', { value: 0.55123, threshold: 0.7 }],
    ['nDCG@10 on faq down by 0.13, limit 0.02', { ...regression, value: -0.13 }],
    [
      'errors in lang=de 20 %, above 5 %',
      { ...live, measure: 'error_ratio', segment: 'lang=de', threshold: 0.05, value: 0.2 },
    ],
    ['golden query latency p95 351 ms, above 250 ms', { ...latency, value: 0.35123 }],
    ['golden query latency p95 1.5 s, above 250 ms', { ...latency, value: 1.5 }],
    ['nDCG@10 on faq unknown, below 0.8', { value: null }],
  ])('is "%s"', (headline, parts) => {
    expect(alertHeadline(aCheckState(parts))).toBe(headline);
  });
});

describe('the recovery text of a check', () => {
  it.each<[string | null, Partial<CheckState>]>([
    ['nDCG@10 on faq recovered to 0.82', { verdict: 'ok', value: 0.82 }],
    ['nDCG@10 on faq recovered (0.01 above the baseline)', { ...regression, verdict: 'ok', value: 0.01 }],
    ['golden query latency p95 recovered to 120 ms', { ...latency, verdict: 'ok', value: 0.12 }],
    [null, { verdict: 'critical' }],
    [null, { verdict: 'no_data', value: null }],
  ])('is "%s"', (text, parts) => {
    expect(recoveryText(aCheckState(parts), null)).toBe(text);
  });

  it('does not claim a recovery if another baseline was pinned in the meantime', () => {
    const check = aCheckState({ ...regression, verdict: 'ok', value: 0, comparedWith: 'run-2' });
    expect(recoveryText(check, 'run-1')).toBe(
      'nDCG@10 on faq passes the comparison with the new baseline run-2 (equal to it)',
    );
    expect(recoveryText(check, 'run-2')).toContain('recovered');
  });
});
