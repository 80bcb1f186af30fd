import { describe, expect, it } from 'vitest';
import {
  evaluateGoldenRun,
  type ForbiddenCheck,
  goldenCheckName,
  historyNeeded,
  listGoldenChecks,
  type RunEvidence,
  type StaleLabelsCheck,
} from '../../../../src/checks/rules/golden-checks.ts';
import { addShifts, NO_SHIFT, shiftOf, worstVerdict } from '../../../../src/checks/rules/threshold.ts';
import type { Severity, Verdict } from '../../../../src/core/model.ts';
import type { LabelProbe } from '../../../../src/golden/rules/labels.ts';
import { aFloor, aScore, goldenChecks } from '../../../support/builders.ts';
import { evaluateFloor, judgeCheck } from '../../../support/judge-check.ts';

const probe = (stale: number, probed: number): LabelProbe => ({
  kind: 'probed',
  probed,
  stale,
  deleted: 0,
  lost: 0,
  labels: [],
  touched: new Set(),
  dead: new Set(),
});
const check: StaleLabelsCheck = { above: 0.02, severity: 'warning' };
const evaluateStaleLabels = (stale: StaleLabelsCheck, labels: RunEvidence['labels']) =>
  judgeCheck({ ...stale, kind: 'stale_labels' }, { labels });
const evaluateForbidden = (forbids: ForbiddenCheck, forbidden: RunEvidence['forbidden']) =>
  judgeCheck({ ...forbids, kind: 'forbidden_results' }, { forbidden });

describe('the check on stale labels', () => {
  it.each([
    [0, 100, 'ok'],
    [2, 100, 'ok'],
    [3, 100, 'warning'],
    [0, 0, 'ok'],
  ] as const)('with %d stale labels of %d is %s', (stale, probed, verdict) => {
    expect(evaluateStaleLabels(check, probe(stale, probed)).verdict).toBe(verdict);
  });

  it('states how many labels are stale and what to do', () => {
    expect(evaluateStaleLabels({ ...check, severity: 'critical' }, probe(7, 50))).toEqual({
      name: 'stale labels above 0.02 on faq',
      severity: 'critical',
      verdict: 'critical',
      value: 0.14,
      ciLow: null,
      ciHigh: null,
      n: 50,
      isBeyond: true,
      threshold: 0.02,
      explanation:
        '7 of 50 judged documents have stale labels (14 %, limit 2 %). Update the judgments of faq with `recalld golden check`, then pin a new baseline.',
    });
  });

  it('states how many documents are deleted in the manifest, and how many are lost', () => {
    const { explanation } = evaluateStaleLabels(check, { ...probe(7, 50), deleted: 5, lost: 2 } as LabelProbe);
    expect(explanation).toMatch(
      /^7 of 50 judged documents have stale labels \(14 %, limit 2 %\): 2 superseded, 5 deleted in the manifest; 2 more/,
    );
  });

  it('has no data, with the reason, if the store could not be probed', () => {
    const result = evaluateStaleLabels(check, { kind: 'unknown', reason: 'The store did not answer.' });
    expect(result).toMatchObject({
      verdict: 'no_data',
      value: null,
      explanation: 'The store did not answer.',
    });
  });
});

const leak = (rank: number) => ({ queryId: 'q7', documentId: `tenant-b/${rank}`, rank });

describe('the check on forbidden documents', () => {
  const check = { severity: 'critical' } as const;
  const well = { asked: 40, failed: 0, unconfirmed: 0, confirmed: [] };

  it('is critical for a single forbidden document, and names the query, the document and the rank', () => {
    expect(evaluateForbidden(check, { ...well, confirmed: [leak(3)] })).toMatchObject({
      name: 'forbidden results on faq',
      verdict: 'critical',
      value: 1,
      threshold: 0,
      n: 40,
      explanation: '1 forbidden document returned, confirmed by a second request: tenant-b/3 at rank 3 of q7.',
    });
  });

  it('names three of many documents, and has its configured severity', () => {
    const found = evaluateForbidden({ severity: 'warning' }, { ...well, confirmed: [1, 2, 3, 4, 5].map(leak) });
    expect(found).toMatchObject({ verdict: 'warning', value: 5 });
    expect(found.explanation).toMatch(/tenant-b\/3 at rank 3 of q7 and 2 more\.$/);
  });

  it('passes if no forbidden document was returned, or if the golden set forbids none', () => {
    expect(evaluateForbidden(check, well)).toMatchObject({ verdict: 'ok', value: 0, n: 40 });
    expect(evaluateForbidden(check, null)).toMatchObject({ verdict: 'ok', n: 0 });
  });

  it('has no data if every query failed, or if a repeated query failed', () => {
    expect(evaluateForbidden(check, { ...well, asked: 0, failed: 40 })).toMatchObject({ verdict: 'no_data' });
    expect(evaluateForbidden(check, { ...well, unconfirmed: 1 })).toMatchObject({ verdict: 'no_data' });
  });

  it('is critical if one document is confirmed, even if others are unconfirmed', () => {
    const found = { ...well, unconfirmed: 2, confirmed: [leak(1)] };
    expect(evaluateForbidden(check, found).verdict).toBe('critical');
  });
});

const checks = goldenChecks({
  floors: [aFloor()],
  regressions: [{ measure: 'mrr@10', drop: 0.05, alpha: 0.01, severity: 'warning', runs: 3 }],
  staleLabels: [{ above: 0.1, severity: 'warning' }],
  forbidden: [{ severity: 'critical' }],
});

describe('the checks of a pipeline', () => {
  it('are all evaluated on a run, each under its listed name', () => {
    const evidence = {
      scores: [aScore()],
      compared: 'No baseline is pinned.',
      history: [],
      labels: { kind: 'unknown', reason: 'There is no store.' },
      forbidden: { asked: 3, failed: 0, unconfirmed: 0, confirmed: [] },
    } as const;
    const results = evaluateGoldenRun(checks, 'faq', evidence);
    expect(results.map(({ name, severity, threshold }) => ({ name, severity, threshold }))).toEqual(
      listGoldenChecks(checks, 'faq').map(({ name, severity, threshold }) => ({ name, severity, threshold })),
    );
    expect(results.map(({ verdict }) => verdict)).toEqual(['ok', 'no_data', 'no_data', 'ok']);
  });

  it('keep their configured name, qualified by the golden set, and their shift if a threshold changes', () => {
    const [score] = [aScore({ mean: 0.78, ciLow: 0.7, ciHigh: 0.85 })];
    const shifts = { 'quality on faq': { mean: -0.05, upper: -0.05 } };
    const named = (below: number) => goldenChecks({ floors: [aFloor({ name: 'quality', below })] });
    expect(listGoldenChecks(named(0.8), 'faq')).toMatchObject([{ name: 'quality on faq', threshold: 0.8 }]);
    const evidence = {
      scores: [score],
      compared: '',
      history: [],
      labels: { kind: 'unknown', reason: '' },
      forbidden: null,
      shifts,
    } as const;
    expect(evaluateGoldenRun(named(0.82), 'faq', evidence)).toMatchObject([
      { name: 'quality on faq', threshold: 0.82 - 0.05, verdict: 'ok' },
    ]);
  });

  it('need as much history as the longest confirmation requires', () => {
    expect(historyNeeded(checks)).toBe(2);
    expect(historyNeeded(goldenChecks())).toBe(0);
  });
});

function explain(mean: number, ciLow: number, ciHigh: number): string {
  return evaluateFloor(aFloor({ below: 0.8 }), [aScore({ mean, ciLow, ciHigh, n: 40 })]).explanation;
}

describe('a threshold on a golden score', () => {
  const cases: readonly [string, Severity, { mean: number; ciLow: number; ciHigh: number }, Verdict][] = [
    [
      'of critical severity is critical if even the upper bound is below',
      'critical',
      { mean: 0.6, ciLow: 0.5, ciHigh: 0.7 },
      'critical',
    ],
    [
      'of critical severity only warns if the interval contains the threshold',
      'critical',
      { mean: 0.75, ciLow: 0.6, ciHigh: 0.85 },
      'warning',
    ],
    [
      'of critical severity only warns if the upper bound equals the threshold',
      'critical',
      { mean: 0.75, ciLow: 0.7, ciHigh: 0.8 },
      'warning',
    ],
    [
      'of critical severity is ok if the mean equals the threshold',
      'critical',
      { mean: 0.8, ciLow: 0.7, ciHigh: 0.9 },
      'ok',
    ],
    [
      'of critical severity is ok if the mean is above, whatever the lower bound',
      'critical',
      { mean: 0.81, ciLow: 0.1, ciHigh: 0.99 },
      'ok',
    ],
    ['of warning severity never becomes critical', 'warning', { mean: 0.1, ciLow: 0, ciHigh: 0.2 }, 'warning'],
    [
      'of warning severity warns if the mean is below, whatever the interval',
      'warning',
      { mean: 0.79, ciLow: 0.7, ciHigh: 0.9 },
      'warning',
    ],
    [
      'of warning severity is ok if the mean equals the threshold',
      'warning',
      { mean: 0.8, ciLow: 0.7, ciHigh: 0.9 },
      'ok',
    ],
  ];

  it.each(cases)('%s', (_, severity, bounds, verdict) => {
    const result = evaluateFloor(aFloor({ below: 0.8, severity }), [aScore(bounds)]);
    expect(result).toMatchObject({
      verdict,
      severity,
      value: bounds.mean,
      threshold: 0.8,
      name: 'ndcg@10 below 0.8 on faq',
    });
  });

  it('has no data, instead of passing, without a score', () => {
    expect(evaluateFloor(aFloor(), [])).toMatchObject({
      verdict: 'no_data',
      value: null,
      explanation: 'ndcg@10 has no score in this run.',
    });
  });

  it.each([
    ['another cutoff', aScore({ k: 5 })],
    ['another measure', aScore({ measure: 'mrr' })],
    ['a segment', aScore({ segment: 'lang=en' })],
  ])('is not evaluated on %s', (_, score) => {
    expect(evaluateFloor(aFloor(), [score]).verdict).toBe('no_data');
  });

  it('excludes queries that have only stale labels, which another check reports', () => {
    const all = aScore({ mean: 0.6, ciLow: 0.5, ciHigh: 0.7, n: 40 });
    const alive = aScore({ segment: 'alive', mean: 0.85, ciLow: 0.8, ciHigh: 0.9, n: 28 });
    expect(evaluateFloor(aFloor({ below: 0.8 }), [all, alive])).toMatchObject({
      verdict: 'ok',
      value: 0.85,
      n: 28,
      explanation:
        'nDCG@10 is 0.85 (95 % CI 0.8-0.9, n = 28), not below 0.8. The score excludes queries with only stale labels (12 of 40); with them, it is 0.6.',
    });
    const down = { ...alive, mean: 0, ciLow: 0, ciHigh: 0.1 };
    expect(evaluateFloor(aFloor({ below: 0.8 }), [all, down]).verdict).toBe('critical');
  });

  it('explains its verdict with numbers', () => {
    expect(explain(0.9, 0.85, 0.95)).toBe('nDCG@10 is 0.9 (95 % CI 0.85-0.95, n = 40), not below 0.8.');
    expect(explain(0.6, 0.5, 0.7)).toBe('nDCG@10 is 0.6 (95 % CI 0.5-0.7, n = 40); even the upper bound is below 0.8.');
    expect(explain(0.75, 0.6, 0.85)).toBe(
      'nDCG@10 is 0.75 (95 % CI 0.6-0.85, n = 40), below 0.8; the difference may be due to chance.',
    );
  });

  it('does not mention chance if a warning threshold is significantly breached', () => {
    const { explanation } = evaluateFloor(aFloor({ severity: 'warning' }), [
      aScore({ mean: 0.6, ciLow: 0.5, ciHigh: 0.7 }),
    ]);
    expect(explanation).toBe('nDCG@10 is 0.6 (95 % CI 0.5-0.7, n = 40), below 0.8.');
  });

  it('has a separate name on each golden set', () => {
    const floor = { ...aFloor(), kind: 'floor' } as const;
    expect(goldenCheckName(floor, 'a')).not.toBe(goldenCheckName(floor, 'b'));
  });
});

describe('the worst verdict', () => {
  it.each<[Verdict[], Verdict]>([
    [[], 'ok'],
    [['ok', 'ok'], 'ok'],
    [['ok', 'warning'], 'warning'],
    [['warning', 'no_data', 'ok'], 'no_data'],
    [['no_data', 'critical', 'warning'], 'critical'],
  ])('of %j is %s', (verdicts, worst) => {
    expect(worstVerdict(verdicts)).toBe(worst);
    expect(worstVerdict(verdicts.toReversed())).toBe(worst);
  });
});

describe('the shift of a threshold', () => {
  it('is summed over all rotations for each check', () => {
    const shifts = addShifts([
      { a: { mean: -0.05, upper: -0.06 } },
      { a: { mean: 0.02, upper: 0.01 }, b: { mean: 0.5, upper: 0.5 } },
    ]);
    expect(shiftOf(shifts, 'a').mean).toBeCloseTo(-0.03, 12);
    expect(shiftOf(shifts, 'a').upper).toBeCloseTo(-0.05, 12);
    expect(shiftOf(shifts, 'b')).toEqual({ mean: 0.5, upper: 0.5 });
  });

  it('is absent for a check that was added after the rotation', () => {
    expect(shiftOf(addShifts([]), 'a')).toEqual(NO_SHIFT);
  });
});
