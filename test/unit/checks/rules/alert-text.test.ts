import { describe, expect, it } from 'vitest';
import { alertText } from '../../../../src/checks/rules/alert-text.ts';
import { aCheckState } from '../../../support/check-states.ts';

describe('the text of an alert', () => {
  it('states the previous value, the value with its interval and n, the threshold, and the time', () => {
    expect(alertText(aCheckState())).toBe(
      'nDCG@10 on faq dropped from 1 to 0.037 (95 % CI 0.02-0.06, n = 160), below 0.8, at 19:15 UTC on 2026-11-20',
    );
  });

  it('omits unknown values', () => {
    const bare = { ciLow: null, ciHigh: null, before: null };
    expect(alertText(aCheckState({ ...bare, n: 12 }))).toBe(
      'nDCG@10 on faq dropped to 0.037 (n = 12), below 0.8, at 19:15 UTC on 2026-11-20',
    );
    expect(alertText(aCheckState({ ...bare, n: null, breachedSince: null, since: null }))).toBe(
      'nDCG@10 on faq dropped to 0.037, below 0.8',
    );
  });

  it('states since when there is no data, and the last passing value', () => {
    const since = new Date('2026-11-21T06:30:59Z');
    expect(alertText(aCheckState({ verdict: 'no_data', since, value: null, ciLow: null, n: null }))).toBe(
      'nDCG@10 on faq: no data since 06:30 UTC on 2026-11-21 (threshold 0.8, last passing value 1)',
    );
  });

  it.each([
    [
      { kind: 'regression', value: -0.05, ciLow: -0.08, ciHigh: -0.02, threshold: -0.02, before: 0.001 },
      'nDCG@10 on faq compared with the baseline: −0.05 (95 % CI −0.08 to −0.02, n = 160), below −0.02,',
    ],
    [
      { kind: 'regression', value: -0.05, comparedWith: 'run-1', threshold: -0.02 },
      'nDCG@10 on faq compared with baseline run-1: −0.05',
    ],
    [
      { kind: 'threshold', measure: 'error_ratio', segment: 'tenant=a', value: 0.2, ciLow: 0.1, ciHigh: 0.3 },
      'in tenant=a rose from 100 % to 20 % (95 % CI 10-30 %, n = 160), above',
    ],
    [
      { kind: 'threshold', measure: 'retriever_error_ratio', segment: 'golden_set=faq', value: 0.2, ciLow: null },
      'The share of golden queries that failed or timed out on faq rose from 100 % to 20 %',
    ],
    [
      { kind: 'threshold', measure: 'golden_run_age_seconds', value: 11_200, threshold: 600, ciLow: null, n: null },
      'to 3 h 7 min, above 10 min,',
    ],
    [
      { kind: 'stale_labels', measure: 'stale_labels', value: 0.5, ciLow: null, n: 40 },
      'The share of judged documents with stale labels rose from 100 % to 50 % (n = 40), above',
    ],
    [
      { kind: 'density_drift', measure: 'density_drift', value: 1.5, threshold: 1, ciLow: null, n: null },
      'The coverage of live queries dropped below the baseline at 19:15 UTC on 2026-11-20: drift confirmed',
    ],
  ] as const)('uses the words and units of each kind of check', (parts, text) => {
    expect(alertText(aCheckState(parts))).toContain(text);
  });
});
