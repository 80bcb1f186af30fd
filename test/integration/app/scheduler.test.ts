import { describe, expect, it } from 'vitest';
import { startScheduler, type Ticks } from '../../../src/app/jobs.ts';
import { RecalldError } from '../../../src/core/errors.ts';
import { createGoldenRotations } from '../../../src/golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { createGoldenTicks } from '../../../src/golden/sql/golden-ticks.ts';
import type { GoldenSchedule } from '../../../src/golden/watched-pipeline.ts';
import { aNewGoldenSet, aSchedule, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { MemoryJobQueue } from '../../support/memory-job-queue.ts';
import { MemorySchedule } from '../../support/memory-schedule.ts';
import { MemoryLogger, MemoryMeter } from '../../support/memory-telemetry.ts';
import { aRightClock } from '../../support/right-clock.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const HOURLY = '0 * * * *';
const LATEST_TICK = NOON;

const database = useDatabase();

/**
 * Creates schedulers of one pipeline, which share its runs and its queue. By default, the pipeline has the hourly set
 * `faq`.
 */
async function aScheduler(pipeline: string, golden: readonly GoldenSchedule[] = [aSchedule()]) {
  const { pool } = database;
  const clock = new SteerableClock();
  const sets = createGoldenSets(pool);
  await sets.add(aNewGoldenSet(), NOON);
  const runs = createGoldenRuns(pool);
  const queue = new MemoryJobQueue();
  const logger = new MemoryLogger();
  const replicas: { readonly schedule: MemorySchedule; readonly ticks: Ticks }[] = [];
  let ids = 0;
  /**
   * Waits until all ticks are stored, by stopping the schedulers: a scheduler stops only after its ticks are stored.
   * Tests can still trigger ticks.
   */
  const stored = async (...of: readonly Ticks[]): Promise<void> => {
    await clock.advance(0);
    await Promise.all(of.map((ticks) => ticks.stop()));
  };
  const start = async (): Promise<MemorySchedule> => {
    const schedule = new MemorySchedule();
    const ticks = startScheduler({
      ...contextOf({
        db: { golden: { sets, runs, rotations: createGoldenRotations(pool), ticks: createGoldenTicks(pool) } },
        clock,
        newRunId: () => `${pipeline}-${++ids}`,
        queue,
        logger,
        meter: new MemoryMeter(),
        indexPlans: [],
        config: { export: undefined },
        pipelines: [aWatchedPipeline({ name: pipeline, golden })],
      }),
      schedule,
      clockWatch: aRightClock,
    });
    replicas.push({ schedule, ticks });
    await stored(ticks);
    return schedule;
  };
  const tick = async (plannedAt: Date, expression = HOURLY): Promise<void> => {
    await clock.advance(plannedAt.getTime() - clock.now().getTime());
    for (const { schedule } of replicas) schedule.fire(expression, plannedAt);
    await stored(...replicas.map(({ ticks }) => ticks));
  };
  /** Ends the golden runs, because this test has no worker. */
  const endRuns = () =>
    pool.query(
      `update golden_runs set status = 'completed', finished_at = started_at where pipeline = $1::text and status = 'running'`,
      [pipeline],
    );
  const goldenJobs = (): string[] => queue.jobs.filter(({ job }) => job === 'run-golden-set').map(({ id }) => id);
  return { runs, queue, logger, start, tick, goldenJobs, endRuns };
}

describe('a scheduler that starts', () => {
  it('runs the latest tick if no scheduler ran it', async () => {
    const { runs, queue, start } = await aScheduler('late');
    await start();
    expect(queue.jobs).toEqual([{ job: 'run-golden-set', payload: { run_id: 'late-1' }, id: 'late-1' }]);
    expect(await runs.find('late-1')).toMatchObject({
      scheduledFor: LATEST_TICK,
      trigger: 'schedule',
      startedAt: NOON,
    });
  });

  it('runs a missed tick once, even if it starts repeatedly and in several processes', async () => {
    const { start, goldenJobs } = await aScheduler('once');
    await Promise.all([start(), start(), start()]);
    await start();
    expect(goldenJobs()).toHaveLength(1);
  });

  it('runs no missed tick for a set that is only run manually', async () => {
    const { start, queue } = await aScheduler('by-hand', [aSchedule({ cron: null })]);
    const schedule = await start();
    expect(queue.jobs).toEqual([]);
    expect(schedule.ticks.map(({ cron }) => cron.expression)).not.toContain(HOURLY);
  });

  it('starts even if a set has not been imported, and logs how to import the set', async () => {
    const { start, goldenJobs, logger } = await aScheduler('docs', [aSchedule({ set: 'nope' }), aSchedule()]);
    await start();
    expect(goldenJobs()).toHaveLength(1);
    expect(logger.lines).toEqual([
      {
        level: 'error',
        message: 'a scheduled start failed',
        fields: {
          what: 'golden run of nope on docs',
          reason: 'There is no golden set "nope"; import one with `recalld golden import PATH --set nope`.',
        },
      },
    ]);
  });

  it('ticks in the time zone of each set', async () => {
    const golden = [aSchedule(), aSchedule({ set: 'b', cron: { expression: '0 9 * * *', timezone: 'Europe/Paris' } })];
    const { start } = await aScheduler('zones', golden);
    expect((await start()).ticks).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ cron: { expression: HOURLY, timezone: 'UTC' } }),
        expect.objectContaining({ cron: { expression: '0 9 * * *', timezone: 'Europe/Paris' } }),
      ]),
    );
  });
});

describe('a tick', () => {
  const nextTick = new Date('2026-11-20T13:00:00.000Z');

  it('starts one golden run for its scheduled time, however many replicas tick', async () => {
    const { runs, start, tick, goldenJobs, endRuns } = await aScheduler('replicas');
    await Promise.all([start(), start(), start()]);
    await endRuns();
    await tick(nextTick);
    const started = await runs.list({ pipeline: 'replicas', limit: 10 });
    expect(started.map(({ scheduledFor }) => scheduledFor)).toEqual([nextTick, LATEST_TICK]);
    expect(goldenJobs()).toEqual(started.map(({ id }) => id).toReversed());
  });

  it('that fails is logged and does not prevent the next one', async () => {
    const { queue, logger, start, tick, goldenJobs, endRuns } = await aScheduler('failing');
    await start();
    await endRuns();
    queue.failure = new RecalldError('queue_unreachable', 'The job queue does not respond.');
    await tick(nextTick);
    expect(logger.lines.map(({ fields }) => fields['reason'])).toEqual(['The job queue does not respond.']);
    queue.failure = null;
    await endRuns();
    await tick(new Date('2026-11-20T14:00:00.000Z'));
    expect(goldenJobs()).toEqual(['failing-1', 'failing-3']);
  });

  it('whose run could not be enqueued leaves the run for the recovery job', async () => {
    const { runs, queue, start, tick, endRuns } = await aScheduler('unqueued');
    await start();
    await endRuns();
    queue.failure = new RecalldError('queue_unreachable', 'The job queue does not respond.');
    await tick(nextTick);
    const abandoned = (await runs.abandoned()).filter(({ pipeline }) => pipeline === 'unqueued');
    expect(abandoned.map(({ scheduledFor }) => scheduledFor)).toEqual([nextTick]);
  });

  it('of a scheduled job enqueues one job, however many replicas tick', async () => {
    const { queue, start, tick } = await aScheduler('jobs', []);
    await Promise.all([start(), start()]);
    await tick(NOON, '40 */2 * * * *');
    expect(queue.jobs).toEqual([
      { job: 'drop-trace-fragments', payload: {}, id: 'drop-trace-fragments-2026-11-20T120000.000Z' },
    ]);
  });
});
