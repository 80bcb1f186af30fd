/** Forbidden documents are found by full and sentinel runs, and confirmed by a second request. */
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../src/core/model.ts';
import { summarizeRun } from '../../../src/golden/runs/run-summary.ts';
import { goldenChecks, goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { type Answers, aGoldenWorld } from '../../support/golden-world.ts';

const database = useDatabase();
const START = new Date('2026-11-20T10:00:00.000Z');
const minute = (count: number): Date => new Date(START.getTime() + count * 60_000);
const sentinel = { cron: { expression: '*/5 * * * *', timezone: 'UTC' }, queries: 10 };

/**
 * Two probes without a judgment: the first forbids all of a tenant's documents, and the second forbids one document.
 */
const probes: readonly GoldenQuery[] = [
  { id: 'p1', text: 'probe 1', tags: {}, judgments: [], forbidden: ['tenant-b/*'] },
  { id: 'p2', text: 'probe 2', tags: {}, judgments: [], forbidden: ['withdrawn'] },
];
const queries = [...goldenQueries(30), ...probes];
const checks = goldenChecks({ forbidden: [{ severity: 'critical' }] });

const right: Answers = (text) => [text.startsWith('probe') ? 'tenant-a/1' : text.replace('question ', 'd')];
const leaking: Answers = (text) => (text === 'probe 1' ? ['tenant-a/1', 'tenant-b/7'] : right(text));

async function aWatchedSet() {
  const world = aGoldenWorld(database.pool, START, { sentinel }, { checks });
  world.answerWith(right);
  await world.importSet({ queries });
  return world;
}

describe('a forbidden document', () => {
  it('does not lower the scores while it is not returned: probes without judgments are requested but not scored', async () => {
    const world = await aWatchedSet();
    const [run] = await world.full(START);
    if (run === undefined) throw new Error('a run is due');
    const summary = await summarizeRun(world.runs, run);
    expect(summary).toMatchObject({ verdict: 'ok', forbidden: [], queries: { total: 32, ok: 32 } });
    expect(summary.metrics['hit_rate@1']).toMatchObject({ mean: 1, n: 30 });
    expect((await world.gauges())('recalld_golden_forbidden_results')).toBe(0);
  });

  it('that is returned twice is critical in the same run, with query, document and rank', async () => {
    const world = await aWatchedSet();
    world.answerWith(leaking);
    const [run] = await world.full(START);
    if (run === undefined) throw new Error('a run is due');
    expect(world.asked.filter((text) => text === 'probe 1')).toHaveLength(2);
    const summary = await summarizeRun(world.runs, run);
    expect(summary).toMatchObject({
      verdict: 'critical',
      forbidden: [{ query: 'p1', document: 'tenant-b/7', rank: 2 }],
    });
    expect((await world.gauges())('recalld_golden_forbidden_results')).toBe(1);
  });

  it('that the second request does not return is not reported', async () => {
    const world = await aWatchedSet();
    let asked = 0;
    world.answerWith((text) => (text === 'probe 1' && asked++ === 0 ? ['tenant-b/7'] : right(text)));
    const [run] = await world.full(START);
    if (run === undefined) throw new Error('a run is due');
    expect(await summarizeRun(world.runs, run)).toMatchObject({ verdict: 'ok', forbidden: [] });
  });

  it('leaves the check without data when the second request fails', async () => {
    const world = await aWatchedSet();
    let asked = 0;
    world.answerWith((text) => {
      if (text !== 'probe 1') return right(text);
      return asked++ === 0 ? ['tenant-b/7'] : null;
    });
    const [run] = await world.full(START);
    if (run === undefined) throw new Error('a run is due');
    expect(await summarizeRun(world.runs, run)).toMatchObject({ verdict: 'no_data', forbidden: [] });
  });

  it('is probed by every sentinel run, and one that returns it starts a full run that reports it', async () => {
    const world = await aWatchedSet();
    await world.full(START);
    world.answerWith(leaking);
    const [fallen] = await world.sentinel(minute(5));
    expect(fallen?.queryIds).toHaveLength(12);
    expect(fallen).toMatchObject({
      status: 'completed',
      reason: '1 forbidden document returned, confirmed by a second request.',
    });
    const own = { pipeline: world.pipeline.name, goldenSet: world.golden.set };
    const [full] = await world.runs.list({ ...own, limit: 1 });
    expect(full).toMatchObject({ trigger: 'sentinel' });
    expect((await world.gauges())('recalld_golden_forbidden_results')).toBe(1);
    const [again] = await world.sentinel(minute(10));
    expect(again?.queryIds).toEqual(fallen?.queryIds);
  });
});
