import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../../../src/core/model.ts';
import { statisticsOfCommands as statistics } from '../../../../src/golden/golden-statistics.ts';
import { comparedJson } from '../../../../src/golden/runs/comparison-json.ts';
import { summarizeRun, summarizeRunSoFar } from '../../../../src/golden/runs/run-summary.ts';
import { metricJson, metricsOf } from '../../../../src/golden/runs/score-json.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import type { RunEnd } from '../../../../src/golden/sql/run-results.ts';
import { aNewGoldenSet, anAnswer, aScore, NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { aDifference, anEnd, putRun } from '../../../support/golden-runs.ts';

const never = new AbortController().signal;
const database = useDatabase();

function endOf(verdicts: readonly Verdict[], parts: Partial<RunEnd> = {}): RunEnd {
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
  return anEnd({ finishedAt: NOON, scores, checks, ...parts });
}

/** A run of three queries. */
async function aRun(answers: Parameters<typeof putRun>[2]) {
  const stores = { sets: createGoldenSets(database.pool), runs: createGoldenRuns(database.pool) };
  await stores.sets.add(aNewGoldenSet(), NOON);
  return { stores, run: await putRun(stores, { startedAt: NOON }, answers) };
}

async function summaryOf(end: RunEnd | null) {
  const { stores, run } = await aRun({ answers: [anAnswer()], end });
  return summarizeRun(stores.runs, run);
}

describe('the summary of a run in progress', () => {
  it('contains provisional scores of the answered queries, and no verdict', async () => {
    const answers = [anAnswer(), anAnswer({ queryId: 'q2', documents: [] })];
    const { stores, run } = await aRun({ answers });
    const summary = await summarizeRunSoFar(contextOf({ db: { golden: stores }, statistics }), run, never);
    expect(summary).toMatchObject({ status: 'running', provisional: true, verdict: 'no_data' });
    expect(summary.queries).toMatchObject({ total: 3, ok: 2 });
    expect(summary.metrics['ndcg@10']).toMatchObject({ mean: 0.5, n: 2 });
  });

  it('contains no scores before the first answer', async () => {
    const { stores, run } = await aRun({});
    expect((await summarizeRunSoFar(contextOf({ db: { golden: stores }, statistics }), run, never)).metrics).toEqual(
      {},
    );
  });
});

describe('the summary of a golden run', () => {
  it('has the documented form', async () => {
    const metric = { n: 40, ci_low: 0.85, ci_high: 0.95, ci_method: 'bca' };
    const { checks, ...rest } = await summaryOf(endOf(['ok']));
    expect(rest).toEqual({
      run_id: expect.stringMatching(/^run-\d+$/) as string,
      pipeline: 'docs',
      golden_set: 'faq',
      golden_set_version: 1,
      purpose: 'full',
      status: 'completed',
      reason: null,
      cause: null,
      warnings: [],
      provisional: false,
      started_at: '2026-11-20T12:00:00.000Z',
      finished_at: '2026-11-20T12:00:00.000Z',
      queries: { total: 3, ok: 1, empty: 0, error: 0, timeout: 0, stale: null },
      failure: null,
      metrics: { 'ndcg@10': { ...metric, mean: 0.9 } },
      segments: { 'lang=en': { 'ndcg@10': { ...metric, mean: 0.5 } } },
      labels: { probed: null, stale: null, deleted: null, lost: null, reason: null },
      forbidden: [],
      no_answer: null,
      stages: null,
      answers_deleted_at: null,
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
        smallest_detectable_drop: null,
        blind: false,
        explanation: 'Because.',
      },
    ]);
  });

  it.each<[readonly Verdict[], Verdict]>([
    [[], 'ok'],
    [['ok', 'warning'], 'warning'],
    [['critical', 'no_data'], 'critical'],
  ])('of a completed run with the verdicts %j has the verdict %s', async (verdicts, verdict) => {
    expect((await summaryOf(endOf(verdicts))).verdict).toBe(verdict);
  });

  it.each(['void', 'failed', 'cancelled'] as const)('that is %s has no verdict', async (status) => {
    expect((await summaryOf(endOf([], { status, scores: [] }))).verdict).toBe('no_data');
  });

  it('in progress has no end and no verdict', async () => {
    expect(await summaryOf(null)).toMatchObject({
      status: 'running',
      finished_at: null,
      metrics: {},
      verdict: 'no_data',
    });
  });
});

describe('scores as JSON', () => {
  it('contain a mean with n, bounds and the method of the bounds', () => {
    expect(metricJson(aScore())).toEqual({ mean: 0.9, n: 40, ci_low: 0.85, ci_high: 0.95, ci_method: 'bca' });
  });

  it('have the keys of the command line, with segment scores separate from scores over all queries', () => {
    const scores = [aScore(), aScore({ measure: 'mrr', k: 1, mean: 0.5 }), aScore({ segment: 'lang=en', mean: 0.1 })];
    expect(Object.keys(metricsOf(scores))).toEqual(['ndcg@10', 'mrr@1']);
    expect(metricsOf(scores, 'lang=en')['ndcg@10']?.mean).toBe(0.1);
    expect(metricsOf(scores, 'lang=fr')).toEqual({});
  });
});

describe('a comparison as JSON', () => {
  const json = (parts: Parameters<typeof aDifference>[0]) =>
    comparedJson({ against: 'run-1', differences: [aDifference(parts)] }).metrics['ndcg@10'];

  it('contains the p-value of the verdict if it differs from that of the randomization test', () => {
    expect(json({ p: 0, pRandomization: 0.25, ciMethod: 'reruns' })).toMatchObject({
      p: 0,
      p_randomization: 0.25,
      ci_method: 'reruns',
    });
    expect(json({ p: 0.25, pRandomization: 0.25 })).not.toHaveProperty('p');
  });
});
