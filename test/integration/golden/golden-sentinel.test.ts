/** Tests what sentinel runs detect, what they start, and what they leave unchanged. */
import { describe, expect, it } from 'vitest';
import { goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { type Answers, aGoldenWorld } from '../../support/golden-world.ts';

const database = useDatabase();
const START = new Date('2026-11-20T10:00:00.000Z');
const minute = (count: number): Date => new Date(START.getTime() + count * 60_000);
const sentinel = { cron: { expression: '*/5 * * * *', timezone: 'UTC' }, queries: 10 };

const right: Answers = (text) => [text.replace('question ', 'd')];
const wrong: Answers = () => ['x', 'y', 'z'];
const dead: Answers = () => null;

async function aWatchedSet(golden: Parameters<typeof aGoldenWorld>[2] = {}) {
  const world = aGoldenWorld(database.pool, START, { sentinel, ...golden });
  world.answerWith(right);
  await world.importSet({ queries: goldenQueries(60) });
  await world.full(START);
  return world;
}

describe('a sentinel', () => {
  it('requests a few queries and passes while nothing changes; scores and golden gauges remain those of the full run', async () => {
    const world = await aWatchedSet();
    const before = world.asked.length;
    const [run] = await world.sentinel(minute(5));
    expect(world.asked.length - before).toBe(10);
    expect(run).toMatchObject({ purpose: 'sentinel', status: 'completed', reason: null, queriesTotal: 10 });
    const gauge = await world.gauges();
    expect(gauge('recalld_golden_sentinel_state', { state: 'ok' })).toBe(1);
    expect(gauge('recalld_golden_sentinel_state', { state: 'failed' })).toBe(0);
    expect(gauge('recalld_golden_scored_queries', { segment: 'all' })).toBe(60);
    expect(gauge('recalld_golden_run_last_attempt_timestamp_seconds')).toBe(START.getTime() / 1000);
    expect(gauge('recalld_golden_sentinel_last_success_timestamp_seconds')).toBe(minute(5).getTime() / 1000);
    const own = { pipeline: world.pipeline.name, goldenSet: world.golden.set };
    expect(await world.runs.list({ ...own, limit: 10 })).toHaveLength(1);
  });

  it('requests the same queries every time, so that its runs can be compared', async () => {
    const world = await aWatchedSet();
    const [first] = await world.sentinel(minute(5));
    await world.full(minute(60));
    const [second] = await world.sentinel(minute(65));
    expect(second?.queryIds).toEqual(first?.queryIds);
  });

  it('starts one full run with the reason when it fails, however long the failure lasts', async () => {
    const world = await aWatchedSet();
    world.answerWith(wrong);
    const [fallen] = await world.sentinel(minute(5));
    expect(fallen?.reason).toMatch(/^ndcg@10 on the sentinel queries dropped by 1/);
    const own = { pipeline: world.pipeline.name, goldenSet: world.golden.set };
    const escalated = async () =>
      (await world.runs.list({ ...own, limit: 10 })).filter(({ trigger }) => trigger === 'sentinel');
    expect(await escalated()).toEqual([
      expect.objectContaining({
        purpose: 'full',
        status: 'completed',
        scheduledFor: null,
        queriesTotal: 60,
        cause: expect.stringContaining(`Sentinel run ${fallen?.id} failed: ndcg@10`),
      }),
    ]);
    expect((await world.gauges())('recalld_golden_ndcg', { segment: 'all', k: '10' })).toBe(0);
    await world.sentinel(minute(10));
    await world.sentinel(minute(15));
    expect(await escalated()).toHaveLength(1);
  });

  it('fails when the retriever is down, and starts one full run, not one every five minutes', async () => {
    const world = await aWatchedSet({
      settings: { ...(await aWatchedSet()).golden.settings, onError: 'void' },
    });
    world.answerWith(dead);
    const [fallen] = await world.sentinel(minute(5));
    expect(fallen).toMatchObject({
      status: 'void',
      reason: expect.stringContaining('100 % of the sentinel queries'),
    });
    await world.sentinel(minute(10));
    const own = { pipeline: world.pipeline.name, goldenSet: world.golden.set };
    const full = await world.runs.list({ ...own, limit: 10 });
    expect(full.map(({ trigger, status }) => `${trigger} ${status}`)).toEqual(['sentinel void', 'schedule completed']);
    const gauge = await world.gauges();
    expect(gauge('recalld_golden_sentinel_state', { state: 'failed' })).toBe(1);
    expect(gauge('recalld_golden_sentinel_last_success_timestamp_seconds')).toBeUndefined();
  });

  it('fails again after a passing run', async () => {
    const world = await aWatchedSet();
    world.answerWith(wrong);
    await world.sentinel(minute(5));
    world.answerWith(right);
    await world.full(minute(60));
    await world.sentinel(minute(65));
    world.answerWith(wrong);
    await world.sentinel(minute(70));
    const own = { pipeline: world.pipeline.name, goldenSet: world.golden.set };
    const full = await world.runs.list({ ...own, limit: 10 });
    expect(full.filter(({ trigger }) => trigger === 'sentinel')).toHaveLength(2);
  });

  it('starts a full run even in quiet hours, in which scheduled full runs do not start', async () => {
    const world = await aWatchedSet({ quietHours: [{ from: 11 * 60, to: 13 * 60 }] });
    expect(await world.full(minute(60))).toEqual([]);
    world.answerWith(wrong);
    await world.sentinel(minute(65));
    const gauge = await world.gauges();
    expect(gauge('recalld_golden_ticks_skipped_total', { purpose: 'full', reason: 'quiet_hours' })).toBe(1);
    expect(gauge('recalld_golden_ndcg', { segment: 'all', k: '10' })).toBe(0);
  });

  it('is skipped, like scheduled full runs, while the rest of the daily budget is reserved for one full run', async () => {
    const world = await aWatchedSet({ maxQueriesPerDay: 135 });
    await world.sentinel(minute(5));
    expect(await world.sentinel(minute(10))).toEqual([]);
    expect(await world.full(minute(60))).toEqual([]);
    const gauge = await world.gauges();
    expect(gauge('recalld_golden_ticks_skipped_total', { purpose: 'sentinel', reason: 'daily_budget' })).toBe(1);
    expect(gauge('recalld_golden_ticks_skipped_total', { purpose: 'full', reason: 'daily_budget' })).toBe(1);
    expect(world.asked).toHaveLength(70);
    await world.full(minute(14 * 60));
    expect(world.asked).toHaveLength(130);
  });

  it('waits for the first full run, and reports that it waits', async () => {
    const world = aGoldenWorld(database.pool, START, { sentinel });
    await world.importSet({ queries: goldenQueries(3) });
    expect(await world.sentinel(minute(5))).toEqual([]);
    const gauge = await world.gauges();
    expect(gauge('recalld_golden_ticks_skipped_total', { purpose: 'sentinel', reason: 'no_full_run' })).toBe(1);
    expect(gauge('recalld_golden_sentinel_state', { state: 'no_data' })).toBe(1);
  });

  it('runs once per tick, however many schedulers there are', async () => {
    const world = await aWatchedSet();
    world.answerWith(wrong);
    expect(await world.sentinel(minute(5), 5)).toHaveLength(1);
  });
});

describe('a golden schedule', () => {
  it('exports when the next successful run is due, and a stopped scheduler does not change that time', async () => {
    const world = await aWatchedSet();
    const due = async (): Promise<readonly (number | undefined)[]> => {
      const gauge = await world.gauges();
      return ['run', 'sentinel'].map((kind) => gauge(`recalld_golden_${kind}_expected_by_timestamp_seconds`));
    };
    // The next full run starts after an hour, the next sentinel run starts after five minutes, and each run may take
    // ten minutes.
    const expected = [minute(70), minute(15)].map((at) => at.getTime() / 1000);
    expect(await due()).toEqual(expected);
    world.moveTo(minute(600));
    expect(await due()).toEqual(expected);
    await world.full(minute(600));
    expect((await due())[0]).toBe(minute(670).getTime() / 1000);
  });

  it('expects the next run after its quiet hours, during which its scores are still exported', async () => {
    const world = await aWatchedSet({ quietHours: [{ from: 10 * 60 + 30, to: 20 * 60 }] });
    world.moveTo(minute(9 * 60));
    const gauge = await world.gauges();
    expect(gauge('recalld_golden_run_expected_by_timestamp_seconds')).toBe(minute(610).getTime() / 1000);
    expect(gauge('recalld_golden_scores_withheld')).toBe(0);
  });

  it('expects the first run soon after the import of a set, so that a missing scheduler is noticed', async () => {
    const world = aGoldenWorld(database.pool, START);
    await world.importSet({ queries: goldenQueries(3) });
    world.moveTo(minute(6000));
    const gauge = await world.gauges();
    expect(gauge('recalld_golden_run_expected_by_timestamp_seconds')).toBe(minute(70).getTime() / 1000);
  });

  it('counts the ticks missed while no scheduler ran, and does not run them all at once', async () => {
    const world = await aWatchedSet();
    expect(await world.full(minute(300), 2)).toHaveLength(1);
    const gauge = await world.gauges();
    expect(gauge('recalld_golden_ticks_skipped_total', { purpose: 'full', reason: 'missed' })).toBe(4);
    expect(world.logger.lines.map(({ fields }) => fields['missed'])).toContain(4);
    await world.full(minute(360));
    expect((await world.gauges())('recalld_golden_ticks_skipped_total', { purpose: 'full', reason: 'missed' })).toBe(4);
  });

  it('counts the missed ticks of at most one day, even when the clock jumps by months', async () => {
    const world = await aWatchedSet();
    await world.full(minute(100 * 24 * 60));
    expect((await world.gauges())('recalld_golden_ticks_skipped_total', { purpose: 'full', reason: 'missed' })).toBe(
      23,
    );
  });

  it('runs once more and counts no missed tick when the clock is set back', async () => {
    const world = await aWatchedSet();
    await world.full(minute(120));
    expect(await world.full(minute(60))).toHaveLength(1);
    expect(await world.full(minute(120))).toEqual([]);
    const own = { pipeline: world.pipeline.name, goldenSet: world.golden.set };
    expect(await world.runs.list({ ...own, limit: 10 })).toHaveLength(3);
  });
});
