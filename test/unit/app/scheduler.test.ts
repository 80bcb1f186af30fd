import { describe, expect, it } from 'vitest';
import { startScheduler } from '../../../src/app/jobs.ts';
import { RecalldError } from '../../../src/errors.ts';
import type { WatchedPipeline } from '../../../src/golden/watched-pipeline.ts';
import { aNewGoldenSet, aSchedule, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { MemoryGoldenRotations } from '../../support/memory-golden-rotations.ts';
import { MemoryGoldenRuns } from '../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../support/memory-golden-sets.ts';
import { MemoryGoldenTicks } from '../../support/memory-golden-ticks.ts';
import { MemoryJobQueue } from '../../support/memory-job-queue.ts';
import { MemorySchedule } from '../../support/memory-schedule.ts';
import { MemoryLogger, MemoryMeter } from '../../support/memory-telemetry.ts';
import { aRightClock } from '../../support/right-clock.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const HOURLY = '0 * * * *';
const HOUR_MS = 3_600_000;
const LATEST_TICK = NOON;

/** A scheduler of the pipeline `docs` with the hourly set `faq`; others may share its runs and its queue. */
async function aScheduler(pipelines: readonly WatchedPipeline[] = [aWatchedPipeline()]) {
  const clock = new SteerableClock();
  const sets = new MemoryGoldenSets();
  await sets.add(aNewGoldenSet(), NOON);
  const runs = new MemoryGoldenRuns(clock);
  const ticks = new MemoryGoldenTicks(runs);
  const queue = new MemoryJobQueue();
  const logger = new MemoryLogger();
  let ids = 0;
  const start = async (): Promise<MemorySchedule> => {
    const schedule = new MemorySchedule();
    startScheduler({
      sets,
      runs,
      rotations: new MemoryGoldenRotations(),
      ticks,
      clock,
      newRunId: () => `run-${++ids}`,
      schedule,
      queue,
      logger,
      meter: new MemoryMeter(),
      clockWatch: aRightClock,
      indexPlans: [],
      pipelines,
    });
    await clock.advance(1);
    return schedule;
  };
  const goldenJobs = (): string[] => queue.jobs.filter(({ job }) => job === 'run-golden-set').map(({ id }) => id);
  return { clock, sets, runs, queue, logger, start, goldenJobs };
}

describe('a scheduler that starts', () => {
  it('makes up for the latest tick when nobody ran it', async () => {
    const { runs, queue, start } = await aScheduler();
    await start();
    expect(queue.jobs).toEqual([{ job: 'run-golden-set', payload: { run_id: 'run-1' }, id: 'run-1' }]);
    expect(await runs.find('run-1')).toMatchObject({
      scheduledFor: LATEST_TICK,
      trigger: 'schedule',
      startedAt: NOON,
    });
  });

  it('makes up for it once, however often and in however many processes it starts', async () => {
    const { start, goldenJobs } = await aScheduler();
    await Promise.all([start(), start(), start()]);
    await start();
    expect(goldenJobs()).toHaveLength(1);
  });

  it('does not make up for a set that runs by hand', async () => {
    const { start, queue } = await aScheduler([aWatchedPipeline({ golden: [aSchedule({ cron: null })] })]);
    const schedule = await start();
    expect(queue.jobs).toEqual([]);
    expect(schedule.ticks.map(({ cron }) => cron.expression)).not.toContain(HOURLY);
  });

  it('starts all the same when a set has not been imported, and says how to import it', async () => {
    const pipelines = [aWatchedPipeline({ golden: [aSchedule({ set: 'nope' }), aSchedule()] })];
    const { start, goldenJobs, logger } = await aScheduler(pipelines);
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
    const { start } = await aScheduler([aWatchedPipeline({ golden })]);
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

  it('starts one golden run for its planned time, however many replicas tick', async () => {
    const { clock, runs, start, goldenJobs } = await aScheduler();
    const replicas = [await start(), await start(), await start()];
    await clock.advance(HOUR_MS);
    for (const replica of replicas) replica.fire(HOURLY, nextTick);
    await clock.advance(1);
    const started = await runs.list({ limit: 10 });
    expect(started.map(({ scheduledFor }) => scheduledFor)).toEqual([nextTick, LATEST_TICK]);
    expect(goldenJobs()).toEqual(started.map(({ id }) => id).toReversed());
  });

  it('that fails is logged and does not keep the next one from starting', async () => {
    const { clock, queue, logger, start, goldenJobs } = await aScheduler();
    const schedule = await start();
    queue.failure = new RecalldError('queue_unreachable', 'The job queue does not answer.');
    await clock.advance(HOUR_MS);
    schedule.fire(HOURLY, nextTick);
    await clock.advance(1);
    expect(logger.lines.map(({ fields }) => fields['reason'])).toEqual(['The job queue does not answer.']);
    await clock.advance(HOUR_MS);
    queue.failure = null;
    schedule.fire(HOURLY, new Date('2026-11-20T14:00:00.000Z'));
    await clock.advance(1);
    expect(goldenJobs()).toEqual(['run-1', 'run-3']);
  });

  it('whose run could not be enqueued leaves it running, for the recovery to find', async () => {
    const { clock, runs, queue, start } = await aScheduler();
    const schedule = await start();
    queue.failure = new RecalldError('queue_unreachable', 'The job queue does not answer.');
    await clock.advance(HOUR_MS);
    schedule.fire(HOURLY, nextTick);
    await clock.advance(1);
    expect((await runs.abandoned()).map(({ scheduledFor }) => scheduledFor)).toContainEqual(nextTick);
  });

  it('of a job that starts by itself is one job, however many replicas tick', async () => {
    const { clock, queue, start } = await aScheduler([]);
    const replicas = [await start(), await start()];
    for (const replica of replicas) replica.fire('40 */2 * * * *', NOON);
    await clock.advance(1);
    expect(queue.jobs).toEqual([
      { job: 'release-trace-fragments', payload: {}, id: 'release-trace-fragments-2026-11-20T120000.000Z' },
    ]);
  });
});
