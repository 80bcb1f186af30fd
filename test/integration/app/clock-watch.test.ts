/** With a real database: while the clock is wrong, no run starts, and no tick counts as missed. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { watchClock } from '../../../src/app/clock-watch.ts';
import { startScheduler } from '../../../src/app/jobs.ts';
import { systemClock } from '../../../src/core/system-clock.ts';
import { createGoldenRotations } from '../../../src/golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { createGoldenTicks } from '../../../src/golden/sql/golden-ticks.ts';
import { clockSkew } from '../../../src/math/schedule/clock-skew.ts';
import { latestOccurrence } from '../../../src/math/schedule/occurrences.ts';
import { compareClocks, createPool } from '../../../src/platform/postgres/pool.ts';
import { aNewGoldenSet, aSchedule, aWatchedPipeline } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryJobQueue } from '../../support/memory-job-queue.ts';
import { MemorySchedule } from '../../support/memory-schedule.ts';
import { MemoryLogger, MemoryMeter } from '../../support/memory-telemetry.ts';
import { startTcpGate } from '../../support/tcp-gate.ts';
import { waitFor } from '../../support/wait-for.ts';

const TWO_HOURS_MS = 7_200_000;
const HOURLY = { expression: '0 * * * *', timezone: 'UTC' };

const database = useDatabase();

/** A clock that is ahead of this machine's clock by `aheadMs`, which the test can change. */
function aClockAhead(aheadMs: number) {
  const state = { aheadMs };
  return { state, clock: { ...systemClock, now: () => new Date(Date.now() + state.aheadMs) } };
}

describe('the clocks of this machine and of its database', () => {
  it.each([0, TWO_HOURS_MS, -90_000])('are compared when the local clock is %s ms ahead', async (aheadMs) => {
    const { seconds, marginSeconds } = clockSkew(await compareClocks(database.pool, aClockAhead(aheadMs).clock));
    expect(Math.abs(seconds - aheadMs / 1000)).toBeLessThanOrEqual(marginSeconds + 0.01);
  });

  it('have a measured skew within its margin of error, even if the round trip is slow', async () => {
    const gate = await startTcpGate(database.connection);
    onTestFinished(() => gate.close());
    const { host, port } = gate;
    const pool = createPool({
      connection: { ...database.connection, host, port },
      size: 1,
      logger: silentLogger,
    });
    onTestFinished(() => pool.end());
    await pool.query('select 1');
    gate.hold();
    const heldAt = performance.now();
    const comparison = compareClocks(pool, systemClock);
    await waitFor(() => performance.now() - heldAt > 1000);
    await gate.open();
    const { seconds, marginSeconds } = clockSkew(await comparison);
    expect(marginSeconds).toBeGreaterThan(0.4);
    expect(Math.abs(seconds)).toBeLessThanOrEqual(marginSeconds + 0.01);
  });
});

it('while the clock is two hours ahead, no run starts or counts as missed; once it is right, one run starts', async () => {
  const { clock, state } = aClockAhead(TWO_HOURS_MS);
  const { pool } = database;
  const [sets, runs, ticks] = [createGoldenSets(pool), createGoldenRuns(pool), createGoldenTicks(pool)];
  await sets.add(aNewGoldenSet(), new Date());
  const logger = new MemoryLogger();
  const meter = new MemoryMeter();
  const clockWatch = await watchClock(contextOf({ clock, logger, meter }), () => compareClocks(pool, clock));
  onTestFinished(() => clockWatch.stop());
  const schedule = new MemorySchedule();
  let ids = 0;
  const scheduler = startScheduler({
    ...contextOf({
      db: { golden: { sets, runs, rotations: createGoldenRotations(pool), ticks } },
      clock,
      newRunId: () => `run-${(ids += 1)}`,
      queue: new MemoryJobQueue(),
      logger,
      meter,
      indexPlans: [],
      config: { export: undefined },
      pipelines: [aWatchedPipeline({ golden: [aSchedule({ cron: HOURLY })] })],
    }),
    schedule,
    clockWatch,
  });
  onTestFinished(() => scheduler.stop());
  const tick = (): void => schedule.fire(HOURLY.expression, latestOccurrence(HOURLY, clock.now()));
  const planned = async () => (await runs.list({ limit: 10 })).map(({ scheduledFor }) => scheduledFor);
  const skips = () => ticks.skipTotals();
  expect(clockWatch.problem()).toContain('2 h ahead of');

  tick();
  state.aheadMs = 0;
  expect(await clockWatch.isRight()).toBe(true);
  await waitFor(async () => (await planned()).length > 0);
  const now = new Date();
  const [only, ...others] = await planned();
  expect(only !== undefined && only !== null && only <= now).toBe(true);
  expect(others).toEqual([]);

  state.aheadMs = TWO_HOURS_MS;
  tick();
  expect(await clockWatch.isRight()).toBe(false);
  state.aheadMs = 0;
  expect(await clockWatch.isRight()).toBe(true);
  await scheduler.stop();
  for (const scheduledFor of await planned()) expect(scheduledFor?.getTime()).toBeLessThanOrEqual(Date.now());
  expect(await skips()).toEqual([]);
  expect(new Set(meter.settings.map(({ value }) => Math.round(value / 3600)))).toEqual(new Set([2, 0]));
});
