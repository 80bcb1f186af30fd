import { describe, expect, it } from 'vitest';
import { judgeStaleLabels } from '../../../../src/checks/rules/golden-checks.ts';
import type { LabelProbe } from '../../../../src/golden/rules/labels.ts';

const probe = (stale: number, probed: number): LabelProbe => ({
  kind: 'probed',
  probed,
  stale,
  labels: [],
  touched: new Set(),
  dead: new Set(),
});
const check = { above: 0.02, severity: 'warning' } as const;

describe('the check on stale labels', () => {
  it.each([
    [0, 100, 'ok'],
    [2, 100, 'ok'],
    [3, 100, 'warning'],
    [0, 0, 'ok'],
  ] as const)('of %d gone of %d is %s', (stale, probed, verdict) => {
    expect(judgeStaleLabels(check, 'faq', probe(stale, probed)).verdict).toBe(verdict);
  });

  it('says how many are gone and what to do', () => {
    expect(judgeStaleLabels({ ...check, severity: 'critical' }, 'faq', probe(7, 50))).toEqual({
      name: 'stale labels above 0.02 on faq',
      severity: 'critical',
      verdict: 'critical',
      value: 0.14,
      threshold: 0.02,
      explanation:
        '7 of 50 judged documents (0.1400) are gone from the store, above 0.0200: mend the labels of faq before you trust a fall of its scores.',
    });
  });

  it('has no data, and says why, when nobody could look', () => {
    const result = judgeStaleLabels(check, 'faq', { kind: 'unknown', reason: 'The store did not answer.' });
    expect(result).toMatchObject({
      verdict: 'no_data',
      value: null,
      explanation: 'The store did not answer.',
    });
  });
});
