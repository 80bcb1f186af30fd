/** Tests a scheduler tick that occurs during a run of the same set. */
import { describe, expect, it } from 'vitest';
import type { RunPurpose } from '../../../src/golden/rules/run.ts';
import { tickGoldenSet } from '../../../src/golden/runs/tick-golden-set.ts';
import { goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { aGoldenWorld } from '../../support/golden-world.ts';

const database = useDatabase();
const START = new Date('2026-11-20T10:00:00.000Z');
const minute = (count: number): Date => new Date(START.getTime() + count * 60_000);
const sentinel = { cron: { expression: '*/5 * * * *', timezone: 'UTC' }, queries: 2 };

async function aSlowSet(golden: Parameters<typeof aGoldenWorld>[2] = {}) {
  const world = aGoldenWorld(database.pool, START, golden);
  world.answerWith((text) => [text.replace('question ', 'd')]);
  await world.importSet({ queries: goldenQueries(3) });
  const { deps, pipeline, golden: own } = world;
  /** Starts a run that no worker processes yet. */
  const start = (purpose: RunPurpose, at: Date): Promise<string[]> => {
    world.moveTo(at);
    return tickGoldenSet(deps, pipeline, own, purpose, at);
  };
  const skipped = async (purpose: string, reason = 'still_running') =>
    (await world.gauges())('recalld_golden_ticks_skipped_total', { purpose, reason });
  return { ...world, start, skipped };
}

describe('a tick of a golden set', () => {
  it('is skipped and counted once over all schedulers while the previous run is in progress, and the log names that run', async () => {
    const world = await aSlowSet({ cron: sentinel.cron });
    const [runId = ''] = await world.start('full', START);
    expect(await world.full(minute(5), 3)).toEqual([]);
    expect(await world.skipped('full')).toBe(1);
    expect(world.logger.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ run_id: runId, purpose: 'full' }) }),
    );
    await world.work(runId);
    expect(await world.full(minute(10))).toMatchObject([{ status: 'completed', scheduledFor: minute(10) }]);
    expect(await world.skipped('full')).toBe(1);
    expect(await world.skipped('full', 'missed')).toBe(0);
  });

  it('is skipped while a manual run is in progress', async () => {
    const world = await aSlowSet({ cron: sentinel.cron });
    const [runId = ''] = await world.start('full', START);
    await database.pool.query(`update golden_runs set trigger = 'manual', scheduled_for = null where id = $1::text`, [
      runId,
    ]);
    expect(await world.full(minute(5))).toEqual([]);
    expect(await world.skipped('full')).toBe(1);
  });

  it('is not skipped for a run past its deadline that a stopped daemon left behind', async () => {
    const world = await aSlowSet();
    const [runId = ''] = await world.start('full', START);
    const { deadlineAt } = (await world.runs.find(runId)) ?? { deadlineAt: START };
    const later = new Date(deadlineAt.getTime() + 3_600_000);
    expect(await world.start('full', later)).toHaveLength(1);
    expect(await world.skipped('full')).toBe(0);
  });

  it('is not counted as skipped if the run in progress is its own, as after a scheduler restart', async () => {
    const world = await aSlowSet();
    await world.start('full', START);
    expect(await world.start('full', START)).toEqual([]);
    expect(await world.skipped('full')).toBe(0);
  });

  it('is not counted as over budget if its own run used up the budget', async () => {
    const world = await aSlowSet({ maxQueriesPerDay: 3 });
    await world.full(START);
    expect(await world.full(START)).toEqual([]);
    expect(await world.skipped('full', 'daily_budget')).toBe(0);
  });

  it('of a sentinel is skipped while the previous sentinel is in progress, but not during a full run', async () => {
    const world = await aSlowSet({ sentinel });
    await world.full(START);
    await world.start('sentinel', minute(5));
    expect(await world.sentinel(minute(10))).toEqual([]);
    expect(await world.skipped('sentinel')).toBe(1);
    expect(await world.skipped('full')).toBe(0);
    expect(await world.start('full', minute(60))).toHaveLength(1);
  });
});
