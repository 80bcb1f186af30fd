import { describe, expect, it } from 'vitest';
import { alertText } from '../../../../src/checks/rules/alert-text.ts';
import { aCheckState } from '../../../support/check-states.ts';

describe('the sentence of an alarm', () => {
  it('has the value, its bounds and n, the threshold, since when, and how it was before', () => {
    expect(alertText(aCheckState())).toBe(
      'ndcg@10 fell to 0.0370 (95 % 0.0200 to 0.0600, n = 160), floor 0.8000, from 19:15 UTC on 2026-11-20; 1.0000 before',
    );
  });

  it('leaves out what is not known', () => {
    const bare = { ciLow: null, ciHigh: null, before: null };
    expect(alertText(aCheckState({ ...bare, n: 12 }))).toBe(
      'ndcg@10 fell to 0.0370 (n = 12), floor 0.8000, from 19:15 UTC on 2026-11-20',
    );
    expect(alertText(aCheckState({ ...bare, n: null, breachedSince: null, since: null }))).toBe(
      'ndcg@10 fell to 0.0370, floor 0.8000',
    );
  });

  it('says since when nothing is known, and how it was before', () => {
    const since = new Date('2026-11-21T06:30:59Z');
    expect(alertText(aCheckState({ verdict: 'no_data', since, value: null, ciLow: null, n: null }))).toBe(
      'ndcg@10 was not known, floor 0.8000, from 06:30 UTC on 2026-11-21; 1.0000 before',
    );
  });

  it.each([
    [
      { kind: 'regression', value: -0.05, ciLow: -0.08, ciHigh: -0.02, threshold: -0.02, before: 0.001 },
      'ndcg@10 against the baseline fell to -0.0500 (95 % -0.0800 to -0.0200, n = 160), floor -0.0200,',
    ],
    [
      { kind: 'regression', value: -0.05, comparedWith: 'run-1', threshold: -0.02 },
      'ndcg@10 against baseline run-1 fell to -0.0500',
    ],
    [
      { kind: 'threshold', measure: 'error_ratio', segment: 'tenant=a', value: 0.2, ciLow: 0.1, ciHigh: 0.3 },
      'The share of live queries that failed or timed out of tenant=a rose to 0.2000 (95 % 0.1000 to 0.3000, n = 160), ceiling',
    ],
    [
      { kind: 'threshold', measure: 'golden_run_age_seconds', value: 11_200, threshold: 600, ciLow: null, n: null },
      'The time since the last completed golden run rose to 3h 6m 40s, ceiling 10m 0s,',
    ],
    [
      { kind: 'stale_labels', measure: 'stale_labels', value: 0.5, ciLow: null, n: 40 },
      'The share of judged documents that are superseded rose to 0.5000 (n = 40), ceiling',
    ],
    [
      { kind: 'density_drift', measure: 'density_drift', value: 1.5, threshold: 1, ciLow: null, n: null },
      'The evidence that queries are covered worse rose to 1.5000, ceiling 1.0000,',
    ],
  ] as const)('tells each kind of check in its own words and units', (parts, text) => {
    expect(alertText(aCheckState(parts))).toContain(text);
  });
});
