/**
 * Tests the verdict, message and metric of each failure that affects a golden set, from the retriever to the export.
 */
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../src/core/model.ts';
import { aGoldenQuery, aRunSettings, goldenChecks, goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { type Answers, aGoldenWorld } from '../../support/golden-world.ts';
import { MemoryVectorStore } from '../../support/memory-vector-store.ts';

const database = useDatabase();
const START = new Date('2026-11-20T10:00:00.000Z');
const QUERIES = 40;
const hour = (count: number): Date => new Date(START.getTime() + count * 3_600_000);

const floorName = (set: string): string => `ndcg@10 below 0.8 on ${set}`;
const regressionName = (set: string): string => `ndcg@10 regression by 0.02 on ${set}`;
const labelsName = (set: string): string => `stale labels above 0.02 on ${set}`;

const right: Answers = (text) => [text.replace('question ', 'd')];

function chunks(count: number, prefix = 'd') {
  return Array.from({ length: count }, (_, i) => ({
    id: `${prefix}${i + 1}`,
    vector: Float32Array.of(1, i),
    content: null,
  }));
}

/** Prepares a golden set with a healthy run as its pinned baseline; `next` runs the set again during the failure. */
async function aFailure({
  queries = goldenQueries(QUERIES),
  onError = 'void',
}: {
  readonly queries?: readonly GoldenQuery[];
  readonly onError?: 'void' | 'score_zero';
} = {}) {
  const store = new MemoryVectorStore(chunks(queries.length));
  const world = aGoldenWorld(
    database.pool,
    START,
    { settings: aRunSettings({ maxPerSecond: 10_000, onError }) },
    {
      store,
      checks: goldenChecks({
        floors: [{ measure: 'ndcg@10', below: 0.8, severity: 'critical' }],
        regressions: [{ measure: 'ndcg@10', drop: 0.02, alpha: 0.01, severity: 'critical', runs: 1 }],
        staleLabels: [{ above: 0.02, severity: 'warning' }],
      }),
    },
  );
  const { set } = world.golden;
  world.answerWith(right);
  await world.importSet({ queries });
  const [healthy] = await world.full(hour(0));
  if (healthy === undefined) throw new Error('no run');
  const { pipeline, goldenSet, id: runId } = healthy;
  await world.baselines.pin({ pipeline, goldenSet, runId, note: null, pinnedAt: hour(0), noise: {} }, 'ada');
  const next = async (answers: Answers) => {
    world.answerWith(answers);
    const [run] = await world.full(hour(1));
    if (run === undefined) throw new Error('no run');
    const checks = new Map((await world.runs.checks(run.id)).map((check) => [check.name, check]));
    const gauge = await world.gauges();
    return {
      run,
      gauge,
      floor: checks.get(floorName(set)),
      regression: checks.get(regressionName(set)),
      labels: checks.get(labelsName(set)),
      state: (name: (of: string) => string) =>
        (['ok', 'warning', 'critical', 'no_data'] as const).find(
          (state) => gauge('recalld_check_state', { check: name(set), state }) === 1,
        ),
      ndcg: gauge('recalld_golden_ndcg', { segment: 'all', k: '10' }),
    };
  };
  return { world, store, next };
}

describe('a golden run against', () => {
  it('a dead retriever is void, leaves its checks without data, and counts the failures', async () => {
    const { next } = await aFailure();
    const { run, floor, state, gauge } = await next(() => null);
    expect(run).toMatchObject({
      status: 'void',
      reason: '100 % of the queries failed, above the error budget of 5 %.',
    });
    expect(floor?.verdict).toBe('no_data');
    expect(gauge('recalld_golden_queries', { outcome: 'error' })).toBe(QUERIES);
    expect(gauge('recalld_golden_runs', { status: 'void' })).toBe(1);
    expect(gauge('recalld_golden_run_last_success_timestamp_seconds')).toBe(hour(0).getTime() / 1000);
    expect([state(floorName), state(regressionName)]).toEqual(['no_data', 'no_data']);
  });

  it('a dead retriever scores 0 when failures count as 0', async () => {
    const { next } = await aFailure({ onError: 'score_zero' });
    const { run, floor, regression, ndcg, state } = await next(() => null);
    expect([run.status, ndcg]).toEqual(['completed', 0]);
    expect(floor?.explanation).toContain('nDCG@10 is 0 ');
    expect(regression?.verdict).toBe('critical');
    expect([state(floorName), state(regressionName)]).toEqual(['critical', 'critical']);
  });

  it('a partly failing retriever keeps every query in its mean', async () => {
    const half: Answers = (text) => (Number(text.replace('question ', '')) % 2 === 0 ? right(text) : null);
    const { next } = await aFailure({ onError: 'score_zero' });
    const { ndcg, floor, regression, gauge, state } = await next(half);
    expect(ndcg).toBe(0.5);
    expect(gauge('recalld_golden_scored_queries', { segment: 'all' })).toBe(QUERIES);
    expect(gauge('recalld_golden_queries', { outcome: 'error' })).toBe(QUERIES / 2);
    expect(floor?.explanation).toContain('even the upper bound is below 0.8');
    expect(regression?.explanation).toContain('0 better, 20 worse');
    expect(state(regressionName)).toBe('critical');
  });

  it('an empty store fails the threshold, reports stale labels, and has no data about a regression', async () => {
    const { next, store } = await aFailure();
    store.hold([]);
    const { run, ndcg, labels, regression, gauge, state } = await next(() => []);
    expect([run.status, ndcg]).toEqual(['completed', 0]);
    expect(gauge('recalld_golden_queries', { outcome: 'empty' })).toBe(QUERIES);
    expect(gauge('recalld_golden_stale_labels_ratio')).toBe(1);
    expect(labels?.explanation).toContain(`${QUERIES} of ${QUERIES} judged documents`);
    expect(regression).toMatchObject({
      verdict: 'no_data',
      explanation: 'Every query has a stale label, so this set cannot measure the retriever.',
    });
    expect([state(floorName), state(labelsName)]).toEqual(['critical', 'warning']);
  });

  it('a wrong index reports a regression and no stale labels', async () => {
    const { next } = await aFailure();
    const { ndcg, labels, regression, gauge, state } = await next(() => Array.from({ length: 10 }, (_, i) => `x${i}`));
    expect(ndcg).toBe(0);
    expect(labels?.verdict).toBe('ok');
    expect(regression?.explanation).toContain('a drop of 0.02 or more');
    expect(gauge('recalld_golden_judged_ratio', { segment: 'all', k: '10' })).toBe(0);
    expect([state(floorName), state(regressionName)]).toEqual(['critical', 'critical']);
  });

  it('a store with renamed ids reports stale labels and no regression', async () => {
    const { next, store } = await aFailure();
    store.hold(chunks(QUERIES, 'doc-'));
    const { labels, regression, state } = await next((text) => [text.replace('question ', 'doc-')]);
    expect(labels).toMatchObject({ verdict: 'warning', value: 1 });
    expect(labels?.explanation).toContain('Update the judgments');
    expect(regression?.verdict).toBe('no_data');
    expect(state(labelsName)).toBe('warning');
  });

  it('a store in which every label is stale lists all stale labels, and reports no difference', async () => {
    const { next, store, world } = await aFailure();
    store.hold(chunks(QUERIES, 'new'));
    const { run, regression } = await next((text) => [text.replace('question ', 'new')]);
    expect(await world.runs.staleLabels(run.id)).toHaveLength(QUERIES);
    expect(regression?.value).toBeNull();
  });

  it('a set of one query reports its n, and never a regression', async () => {
    const { next } = await aFailure({ queries: goldenQueries(1) });
    const { ndcg, regression, floor, gauge } = await next(() => ['x']);
    expect([ndcg, gauge('recalld_golden_scored_queries', { segment: 'all' })]).toEqual([0, 1]);
    expect(gauge('recalld_golden_ndcg_ci_high', { segment: 'all', k: '10' })).toBeGreaterThan(0.7);
    expect(floor?.explanation).toContain('n = 1');
    expect(regression).toMatchObject({ verdict: 'ok', value: -1 });
  });

  it('a set that has queries without relevant documents scores these 0, and reports no regression', async () => {
    const barren = Array.from({ length: 10 }, (_, i) =>
      aGoldenQuery({
        id: `n${i}`,
        text: `question ${100 + i}`,
        judgments: [{ documentId: `d${i + 1}`, grade: 0 }],
      }),
    );
    const { next } = await aFailure({ queries: [...goldenQueries(10), ...barren] });
    const { ndcg, regression, gauge } = await next(right);
    expect(ndcg).toBe(0.5);
    expect(gauge('recalld_golden_scored_queries', { segment: 'all' })).toBe(20);
    expect(regression?.verdict).toBe('ok');
  });
});
