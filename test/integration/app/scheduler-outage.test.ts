/**
 * A daily golden run whose database is down at the scheduled time: the run starts late, but only once, or it is
 * recorded as missed.
 */

import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startScheduler, type Ticks } from '../../../src/app/jobs.ts';
import { systemClock } from '../../../src/core/system-clock.ts';
import { runGoldenSetJob } from '../../../src/golden/golden-jobs.ts';
import { createGoldenRotations } from '../../../src/golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { createGoldenTicks } from '../../../src/golden/sql/golden-ticks.ts';
import { migrate } from '../../../src/platform/postgres/migrate.ts';
import { createPool } from '../../../src/platform/postgres/pool.ts';
import { openJobQueue } from '../../../src/platform/queue/bullmq.ts';
import type { JobQueue } from '../../../src/platform/queue/job-queue.ts';
import { aNewGoldenSet, aSchedule, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { silentLogger } from '../../support/log.ts';
import { MemorySchedule } from '../../support/memory-schedule.ts';
import { MemoryLogger, MemoryMeter } from '../../support/memory-telemetry.ts';
import { type OwnPostgres, startOwnPostgres } from '../../support/own-postgres.ts';
import { aRightClock } from '../../support/right-clock.ts';
import { startTcpGate, type TcpGate } from '../../support/tcp-gate.ts';
import { waitFor } from '../../support/wait-for.ts';

const DAILY = '0 12 * * *';
const PATIENCE = { timeoutMs: 60_000 };

const day = (number: number): Date => new Date(NOON.getTime() + number * 86_400_000);

describe('a database outage at the scheduled time of a daily golden run', { timeout: 120_000 }, () => {
  let postgres: OwnPostgres;
  let gate: TcpGate;
  let pool: Pool;
  let queue: JobQueue;
  let ticks: Ticks;
  let schedule: MemorySchedule;
  let now = NOON;
  let ids = 0;
  const logger = new MemoryLogger();
  const meter = new MemoryMeter();

  /** Simulates the start of a daemon. */
  const start = (): void => {
    schedule = new MemorySchedule();
    ticks = startScheduler({
      ...contextOf({
        db: {
          golden: {
            sets: createGoldenSets(pool),
            runs: createGoldenRuns(pool),
            rotations: createGoldenRotations(pool),
            ticks: createGoldenTicks(pool),
          },
        },
        clock: { ...systemClock, now: () => now },
        newRunId: () => `run-${(ids += 1)}`,
        queue,
        logger,
        meter,
        indexPlans: [],
        config: { export: undefined },
        pipelines: [aWatchedPipeline({ golden: [aSchedule({ cron: { expression: DAILY, timezone: 'UTC' } })] })],
      }),
      schedule,
      clockWatch: aRightClock,
    });
  };
  const tickOf = (number: number): void => {
    now = day(number);
    schedule.fire(DAILY, now);
  };
  const countLines = (message: RegExp): number => logger.lines.filter((line) => message.test(line.message)).length;
  /** Starts a daily tick that cannot be stored on time, and waits until this failure is logged. */
  const tickInVain = async (number: number): Promise<void> => {
    const before = countLines(/will be retried until the next scheduled time/);
    tickOf(number);
    await waitFor(() => countLines(/will be retried until the next scheduled time/) > before, PATIENCE);
  };
  const planned = async (): Promise<string[]> => {
    const runs = await createGoldenRuns(pool).list({ limit: 20 });
    return runs.map(({ scheduledFor }) => scheduledFor?.toISOString().slice(0, 10) ?? '').toReversed();
  };
  const missed = async (): Promise<number> => {
    const skips = await createGoldenTicks(pool).skipTotals();
    return skips.find(({ reason }) => reason === 'missed')?.total ?? 0;
  };
  const jobs = async (): Promise<number> => (await queue.counts()).find(({ state }) => state === 'waiting')?.count ?? 0;
  /** Waits until there are `count` runs, each with its job, and returns their scheduled days. */
  const runsOnceThere = async (count: number): Promise<string[]> => {
    await waitFor(async () => (await planned()).length === count && (await jobs()) === count, PATIENCE);
    return planned();
  };

  beforeAll(async () => {
    postgres = await startOwnPostgres(inject('newCluster'));
    gate = await startTcpGate({
      host: '127.0.0.1',
      get port() {
        return postgres.connection.port;
      },
    });
    const connection = { ...postgres.connection, host: gate.host, port: gate.port };
    pool = createPool({ connection, size: 4, logger: silentLogger });
    await migrate(pool);
    await createGoldenSets(pool).add(aNewGoldenSet(), NOON);
    queue = await openJobQueue({
      backend: { kind: 'postgres', connection },
      jobs: [runGoldenSetJob],
      logger: silentLogger,
    });
    start();
    await runsOnceThere(1);
  }, PATIENCE.timeoutMs);

  afterAll(async () => {
    await ticks.stop();
    await queue.close();
    await pool.end();
    await gate.close();
    await postgres.close();
  }, PATIENCE.timeoutMs);

  it('that ends before the next tick delays the run, which starts once and does not count as missed', async () => {
    await postgres.crash();
    await tickInVain(1);
    await postgres.start();
    expect(await runsOnceThere(2)).toEqual(['2026-11-20', '2026-11-21']);
    expect(await missed()).toBe(0);
  });

  it('that lasts over two ticks delays the second run, and the first run counts as missed', async () => {
    await postgres.crash();
    await tickInVain(2);
    await tickInVain(3);
    expect(countLines(/was abandoned/)).toBe(1);
    await postgres.start();
    expect(await runsOnceThere(3)).toEqual(['2026-11-20', '2026-11-21', '2026-11-23']);
    expect(await missed()).toBe(1);
    expect(meter.increments.filter(({ value }) => value > 0)).toEqual([
      { name: 'recalld_ticks_given_up_total', labels: { task: 'run-golden-set' }, value: 1 },
    ]);
  });

  it('during which the daemon stops is noticed by the next daemon, which starts only the latest run', async () => {
    await postgres.crash();
    await tickInVain(4);
    await ticks.stop();
    await postgres.start();
    now = new Date(day(5).getTime() + 3_600_000);
    start();
    expect(await runsOnceThere(4)).toEqual(['2026-11-20', '2026-11-21', '2026-11-23', '2026-11-25']);
    expect(await missed()).toBe(2);
  });
});
