import { describe, expect, it } from 'vitest';
import { formatRunComparison } from '../../../../../src/golden/edge/commands/run-reports.ts';
import { runReport } from '../../../../../src/golden/edge/pages/run-sections.ts';
import type { RunDifference } from '../../../../../src/golden/rules/compare-golden-runs.ts';
import type { MetricJson, RunSummaryJson } from '../../../../../src/golden/run-summary-schema.ts';
import type { RunsCompared } from '../../../../../src/golden/runs/stored-runs.ts';
import { terminalText } from '../../../../../src/report/terminal.ts';
import { aGoldenRun, NOON } from '../../../../support/builders.ts';

const ndcg: RunDifference = {
  key: { measure: 'ndcg', k: 10 },
  segment: 'all',
  excluded: 1,
  measure: 'ndcg',
  n: 39,
  baseline: 0.9,
  candidate: 0.7,
  difference: -0.2,
  ciLow: -0.3,
  ciHigh: -0.1,
  ciMethod: 't',
  p: 0.001,
  t: -4,
  df: 38,
  pT: 0.001,
  pRandomization: 0.001,
  pMethod: 'monte_carlo',
  mcnemarP: null,
  wins: 1,
  losses: 9,
  ties: 29,
  standardDeviation: 0.3,
  smallestDetectableDifference: 0.1,
  verdict: 'regression',
};

const differences = [
  ndcg,
  { ...ndcg, segment: 'lang=fr', n: 9, candidate: 0.5, difference: -0.4 },
  { ...ndcg, segment: 'lang=en', n: 30, candidate: 0.9, difference: 0 },
];

const compared: RunsCompared = {
  baseline: aGoldenRun({ id: 'run-before' }),
  candidate: aGoldenRun({ id: 'run-after' }),
  against: 'run-before',
  differences,
  measure: 'ndcg@10',
  queries: [
    {
      queryId: 'q7',
      text: 'How do I   reset\nmy password?',
      baseline: 1,
      candidate: 0,
      difference: -1,
      isNewlyEmpty: true,
    },
    {
      queryId: 'q8',
      text: 'x'.repeat(80),
      baseline: 1,
      candidate: 0.5,
      difference: -0.5,
      isNewlyEmpty: false,
    },
    { queryId: 'q9', text: 'Where?', baseline: 0, candidate: 1, difference: 1, isNewlyEmpty: false },
  ],
};

const lines = (values: readonly (number | null)[], parts: Partial<RunsCompared> = {}, most = 2) =>
  formatRunComparison({ ...compared, ...parts }, 'ndcg@10', values, most).split('\n');

const trendOf = (values: readonly (number | null)[]) => lines(values).find((line) => line.startsWith('trend'));

describe('the comparison of two runs in a terminal', () => {
  it('includes the trend of the last runs, scaled from the lowest to the highest score, with gaps for missing values', () => {
    expect(trendOf([0.9, 0.9, null, 0.8, 0.7])).toBe('trend      ██ ▅▁ ndcg@10 of the last 5 runs, 0.7 to 0.9');
    expect(trendOf([0.9])).toBe('trend      ▅ ndcg@10 of the last run, 0.9 to 0.9');
    expect(trendOf([null, null])).toBe('trend      no run has ndcg@10');
    expect(trendOf([])).toBe('trend      no run has ndcg@10');
  });

  it('includes the ids of the runs, the verdict, and the number of queries', () => {
    const [baseline, candidate, , verdict] = lines([0.9]);
    expect(baseline).toMatch(/^baseline {3}run-before: faq version 1 on docs, /);
    expect(candidate).toMatch(/^candidate {2}run-after: /);
    expect(verdict).toBe('Verdict on ndcg@10: regression, over 39 queries, 1 excluded.');
  });

  it('lists the changed segments and the most regressed queries, on one short line each', () => {
    const text = lines([0.9]).join('\n');
    expect(text).toMatch(/lang=fr +9 +0\.9 +0\.5/);
    expect(text).not.toContain('lang=en');
    expect(text).toContain('2 queries scored lower in ndcg@10, and 1 scored higher. Largest drop first:');
    expect(text).toContain('How do I reset my password? (now empty)');
    expect(text).toContain(`${'x'.repeat(59)}…`);
    expect(text).not.toContain('Where?');
    expect(lines([0.9], { queries: [] })).toContain('No query changed.');
  });
});

function aMetric(mean: number, parts: Partial<MetricJson> = {}): MetricJson {
  return { mean, n: 40, ci_low: mean - 0.05, ci_high: mean + 0.05, ci_method: 'bca', ...parts };
}

function aSummary(parts: Partial<RunSummaryJson> = {}): RunSummaryJson {
  return {
    run_id: '20261120T120000Z-00000001',
    pipeline: 'docs',
    golden_set: 'faq',
    golden_set_version: 3,
    purpose: 'full',
    status: 'completed',
    reason: null,
    cause: null,
    warnings: [],
    provisional: false,
    started_at: '2026-11-20T12:00:00.000Z',
    finished_at: '2026-11-20T12:01:00.000Z',
    queries: { total: 40, ok: 40, empty: 0, error: 0, timeout: 0, stale: null },
    failure: null,
    metrics: {},
    segments: {},
    labels: { probed: null, stale: null, deleted: null, lost: null, reason: null },
    answers_deleted_at: null,
    forbidden: [],
    no_answer: null,
    stages: null,
    baseline: null,
    deployment: null,
    checks: [],
    verdict: 'ok',
    ...parts,
  };
}

const report = (parts: Partial<RunSummaryJson> = {}) => terminalText(runReport(aSummary(parts)), NOON);

describe('the report of a golden run', () => {
  it('states the set, version, pipeline, status, outcomes, scores with confidence bounds, and checks', () => {
    const metrics = {
      'ndcg@10': aMetric(0.9),
      'ndcg@1': aMetric(0.7),
      'mrr@1': aMetric(0.6),
      'mrr@10': aMetric(0.8),
    };
    const check = {
      name: 'ndcg@10 below 0.8 on faq',
      severity: 'critical' as const,
      verdict: 'ok' as const,
      value: 0.9,
      threshold: 0.8,
      smallest_detectable_drop: null,
      blind: false,
      explanation: 'ndcg@10 is 0.9000, not below 0.8000.',
    };
    const text = report({ metrics, checks: [check] });
    expect(text.split('\n').slice(0, 2)).toEqual([
      'Golden run 20261120T120000Z-00000001: faq version 3 on docs, completed',
      '40 queries: 40 ok, 0 empty, 0 error, 0 timeout',
    ]);
    expect(text).toMatch(/ndcg@10 +0\.9 \(0\.85-0\.95\) +40/);
    expect(text).toMatch(/mrr@1 +0\.6/);
    expect(text).toMatch(/ndcg@10 below 0\.8 on faq +OK +0\.9 +0\.8\n {2}ndcg@10 is 0\.9000, not below 0\.8000\./);
  });

  it.each([
    ['empty', { ok: 39, empty: 1 }],
    ['error', { ok: 39, error: 1 }],
    ['timeout', { ok: 39, timeout: 1 }],
  ])('states that queries without results count as 0 if a query has the outcome %s', (_, outcomes) => {
    const queries = { ...aSummary().queries, ...outcomes };
    expect(report({ queries }).split('\n')[1]).toMatch(
      /^40 queries: 39 ok, .*; queries without results count as 0 in every mean$/,
    );
  });

  it('states why a run has no scores, and the first error', () => {
    const reason = '15 % of the queries failed, above the error budget of 10 %.';
    const explanation =
      'http://rag/search refused the connection (28 of 40 queries, 12 more were not asked after that).';
    const failure = { explanation, code: 'connection_refused', queries: 28, others: 0, not_asked: 12 };
    const text = report({ status: 'void', reason, failure });
    expect(text.split('\n')).toEqual([
      'Golden run 20261120T120000Z-00000001: faq version 3 on docs, void',
      reason,
      '40 queries: 40 ok, 0 empty, 0 error, 0 timeout',
      `First error: ${explanation}`,
    ]);
  });

  it('lists the scores of each segment by name', () => {
    const text = report({
      metrics: { 'mrr@5': aMetric(0.8) },
      segments: { 'lang=en': { 'mrr@5': aMetric(0.4, { n: 7 }) } },
    });
    expect(text).toMatch(/lang=en +0\.4 \(0\.35-0\.45\) +7/);
  });

  it('states that the scores of a run in progress are provisional, and why an escalated run was started', () => {
    const text = report({
      status: 'running',
      provisional: true,
      cause: 'The sentinel s-1 fell: its scores fell.',
      metrics: { 'mrr@5': aMetric(0.8) },
    });
    expect(text).toContain('The sentinel s-1 fell: its scores fell.');
    expect(text).toContain('these are the scores of the queries that have been run so far');
  });

  it('begins with "Sentinel" for a sentinel run', () => {
    expect(report({ purpose: 'sentinel' })).toMatch(/^Sentinel 20261120T120000Z/);
  });
});
