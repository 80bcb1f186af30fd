import { describe, expect, it } from 'vitest';
import { statisticsOfCommands as statistics } from '../../../../src/golden/golden-statistics.ts';
import { comparedJson } from '../../../../src/golden/runs/comparison-json.ts';
import { summarizeRun, summarizeRunSoFar } from '../../../../src/golden/runs/run-summary.ts';
import { metricJson, metricsJson } from '../../../../src/golden/runs/score-json.ts';
import type { RunEnd } from '../../../../src/golden/sql/run-results.ts';
import type { Verdict } from '../../../../src/model.ts';
import { aGoldenRun, aNewGoldenSet, anAnswer, aScore, NOON } from '../../../support/builders.ts';
import { aDifference } from '../../../support/golden-runs.ts';
import { MemoryGoldenRuns } from '../../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../../support/memory-golden-sets.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const never = new AbortController().signal;

function anEnd(verdicts: readonly Verdict[], parts: Partial<RunEnd> = {}): RunEnd {
  const checks = verdicts.map((verdict, index) => ({
    name: `check ${index}`,
    severity: 'critical' as const,
    verdict,
    value: 0.9,
    ciLow: null,
    ciHigh: null,
    n: null,
    isBeyond: false,
    threshold: 0.8,
    explanation: 'Because.',
  }));
  const scores = [aScore(), aScore({ segment: 'lang=en', mean: 0.5 })];
  return {
    status: 'completed',
    doubts: [],
    reason: null,
    finishedAt: NOON,
    scores,
    checks,
    segmentsOverflow: 0,
    labels: null,
    forbidden: null,
    noAnswer: null,
    stages: null,
    fingerprints: {},
    comparisons: [],
    ...parts,
  };
}

async function summaryOf(end: RunEnd | null) {
  const runs = new MemoryGoldenRuns(new SteerableClock());
  runs.put(aGoldenRun(), [anAnswer()]);
  if (end !== null) await runs.finish('run-1', end);
  return summarizeRun(runs, (await runs.find('run-1')) ?? aGoldenRun());
}

describe('the summary of a run that goes on', () => {
  it('has provisional scores of the queries that are answered so far, and no verdict', async () => {
    const sets = new MemoryGoldenSets();
    await sets.add(aNewGoldenSet(), NOON);
    const runs = new MemoryGoldenRuns(new SteerableClock(), sets);
    runs.put(aGoldenRun(), [anAnswer(), anAnswer({ queryId: 'q2', documents: [] })]);
    const summary = await summarizeRunSoFar({ sets, runs, statistics }, aGoldenRun(), never);
    expect(summary).toMatchObject({ status: 'running', provisional: true, verdict: 'no_data' });
    expect(summary.queries).toMatchObject({ total: 3, ok: 2 });
    expect(summary.metrics['ndcg@10']).toMatchObject({ mean: 0.5, n: 2 });
  });

  it('has no scores before its first answer', async () => {
    const sets = new MemoryGoldenSets();
    await sets.add(aNewGoldenSet(), NOON);
    const runs = new MemoryGoldenRuns(new SteerableClock(), sets);
    runs.put(aGoldenRun());
    expect((await summarizeRunSoFar({ sets, runs, statistics }, aGoldenRun(), never)).metrics).toEqual({});
  });
});

describe('the summary of a golden run', () => {
  it('has the form of the contract', async () => {
    const metric = { n: 40, ci_low: 0.85, ci_high: 0.95, ci_method: 'bca' };
    const { checks, ...rest } = await summaryOf(anEnd(['ok']));
    expect(rest).toEqual({
      run_id: 'run-1',
      pipeline: 'docs',
      golden_set: 'faq',
      golden_set_version: 1,
      purpose: 'full',
      status: 'completed',
      reason: null,
      cause: null,
      doubts: [],
      provisional: false,
      started_at: '2026-11-20T12:00:00.000Z',
      finished_at: '2026-11-20T12:00:00.000Z',
      queries: { total: 3, ok: 1, empty: 0, error: 0, timeout: 0, stale: null },
      failure: null,
      metrics: { 'ndcg@10': { ...metric, mean: 0.9 } },
      segments: { 'lang=en': { 'ndcg@10': { ...metric, mean: 0.5 } } },
      labels: { probed: null, stale: null, reason: null },
      forbidden: [],
      no_answer: null,
      stages: null,
      baseline: null,
      deployment: null,
      verdict: 'ok',
    });
    expect(checks).toEqual([
      {
        name: 'check 0',
        severity: 'critical',
        verdict: 'ok',
        value: 0.9,
        threshold: 0.8,
        explanation: 'Because.',
      },
    ]);
  });

  it.each<[readonly Verdict[], Verdict]>([
    [[], 'ok'],
    [['ok', 'warning'], 'warning'],
    [['critical', 'no_data'], 'critical'],
  ])('of a completed run with the verdicts %j has the verdict %s', async (verdicts, verdict) => {
    expect((await summaryOf(anEnd(verdicts))).verdict).toBe(verdict);
  });

  it.each(['void', 'failed', 'cancelled'] as const)('of a run that is %s has no verdict to give', async (status) => {
    expect((await summaryOf(anEnd([], { status, scores: [] }))).verdict).toBe('no_data');
  });

  it('of a run that still runs has no end and no verdict', async () => {
    expect(await summaryOf(null)).toMatchObject({
      status: 'running',
      finished_at: null,
      metrics: {},
      verdict: 'no_data',
    });
  });
});

describe('scores as JSON', () => {
  it('are a mean with n, bounds and the method of the bounds', () => {
    expect(metricJson(aScore())).toEqual({ mean: 0.9, n: 40, ci_low: 0.85, ci_high: 0.95, ci_method: 'bca' });
  });

  it('are keyed as on the command line, those of one segment apart from those of all queries', () => {
    const scores = [aScore(), aScore({ measure: 'mrr', k: 1, mean: 0.5 }), aScore({ segment: 'lang=en', mean: 0.1 })];
    expect(Object.keys(metricsJson(scores))).toEqual(['ndcg@10', 'mrr@1']);
    expect(metricsJson(scores, 'lang=en')['ndcg@10']?.mean).toBe(0.1);
    expect(metricsJson(scores, 'lang=fr')).toEqual({});
  });
});

describe('a comparison as JSON', () => {
  const json = (parts: Parameters<typeof aDifference>[0]) =>
    comparedJson({ against: 'run-1', differences: [aDifference(parts)] }).metrics['ndcg@10'];

  it('has the p of its verdict where that is not the one of the randomization', () => {
    expect(json({ p: 0, pRandomization: 0.25, ciMethod: 'reruns' })).toMatchObject({
      p: 0,
      p_randomization: 0.25,
      ci_method: 'reruns',
    });
    expect(json({ p: 0.25, pRandomization: 0.25 })).not.toHaveProperty('p');
  });
});
