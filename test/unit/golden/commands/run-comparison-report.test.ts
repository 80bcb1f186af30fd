import { describe, expect, it } from 'vitest';
import { formatRunComparison } from '../../../../src/golden/commands/run-reports.ts';
import type { RunDifference } from '../../../../src/golden/rules/compare-golden-runs.ts';
import type { RunsCompared } from '../../../../src/golden/runs/stored-runs.ts';
import { aGoldenRun } from '../../../support/builders.ts';

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
  changed: 10,
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
  formatRunComparison({ ...compared, ...parts }, { measure: 'ndcg@10', values }, most).split('\n');

const trendOf = (values: readonly (number | null)[]) =>
  lines(values).find((line) => line.startsWith('trend'));

describe('two runs side by side, in a terminal', () => {
  it('come with the trend of the last runs, from the least to the largest, with a gap where there is no value', () => {
    expect(trendOf([0.9, 0.9, null, 0.8, 0.7])).toBe(
      'trend      ██ ▅▁ ndcg@10 of the last 5 runs, 0.7000 to 0.9000',
    );
    expect(trendOf([0.9])).toBe('trend      ▅ ndcg@10 of the last run, 0.9000 to 0.9000');
    expect(trendOf([null, null])).toBe('trend      no run has ndcg@10');
    expect(trendOf([])).toBe('trend      no run has ndcg@10');
  });

  it('say which runs they are, the verdict, and over how many queries', () => {
    const [baseline, candidate, , verdict] = lines([0.9]);
    expect(baseline).toMatch(/^baseline {3}run-before: faq version 1 on docs, /);
    expect(candidate).toMatch(/^candidate {2}run-after: /);
    expect(verdict).toBe('Verdict: regression, over 39 queries, 1 left out.');
  });

  it('name the segments that moved and the queries that lost most, on one short line each', () => {
    const text = lines([0.9]).join('\n');
    expect(text).toMatch(/lang=fr +9 +0\.9000 +0\.5000/);
    expect(text).not.toContain('lang=en');
    expect(text).toContain('2 queries lost and 1 won in ndcg@10; most regressed first:');
    expect(text).toContain('How do I reset my password? (now empty)');
    expect(text).toContain(`${'x'.repeat(59)}…`);
    expect(text).not.toContain('Where?');
    expect(lines([0.9], { queries: [] })).toContain('No query changed.');
  });
});
