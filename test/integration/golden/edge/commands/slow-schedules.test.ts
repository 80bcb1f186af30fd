import { describe, expect, it } from 'vitest';
import { slowScheduleInWords, slowSchedules } from '../../../../../src/golden/edge/commands/slow-schedules.ts';
import { goldenQueries } from '../../../../support/builders.ts';
import { useDatabase } from '../../../../support/database.ts';
import { aGoldenWorld } from '../../../../support/golden-world.ts';

const database = useDatabase();
const START = new Date('2026-11-20T10:00:00.000Z');
const minute = (count: number): Date => new Date(START.getTime() + count * 60_000);
const everyFiveMinutes = { expression: '*/5 * * * *', timezone: 'UTC' };

/** Stores runs of a set with a five-minute schedule. `minutes`: durations of the runs; null for a run in progress. */
async function runsOf(...minutes: readonly (number | null)[]) {
  const world = aGoldenWorld(database.pool, START, { cron: everyFiveMinutes });
  world.answerWith(() => ['d1']);
  await world.importSet({ queries: goldenQueries(2) });
  for (const [index, length] of minutes.entries()) {
    const [run] = await world.full(minute(index * 15));
    await database.pool.query(
      `update golden_runs set finished_at = started_at + make_interval(secs => $2::double precision),
              status = case when $2::double precision is null then 'running' else status end
        where id = $1::text`,
      [run?.id, length === null ? null : length * 60],
    );
  }
  return { world, found: (at: Date) => slowSchedules(world.runs, [world.pipeline], at) };
}

describe('the schedule of a golden set', () => {
  it('is reported with its interval, the median duration and the fix if runs take longer than the interval', async () => {
    const { world, found } = await runsOf(6, 7, 9);
    const [slow] = await found(minute(60));
    expect(slow).toEqual({
      pipeline: world.pipeline.name,
      goldenSet: world.golden.set,
      purpose: 'full',
      intervalSeconds: 300,
      medianRunSeconds: 420,
      runs: 3,
    });
    expect(slow && slowScheduleInWords(slow)).toMatch(/starts every 5 min, but takes 7 min .*`concurrency`/);
  });

  it('is not reported when most of the last five runs ended in time', async () => {
    const { found } = await runsOf(30, 30, 4, 4, 4, 9, 4);
    expect(await found(minute(120))).toEqual([]);
  });

  it('counts a run that is still in progress by its age', async () => {
    const { found } = await runsOf(null);
    expect(await found(minute(4))).toEqual([]);
    expect(await found(minute(8))).toMatchObject([{ medianRunSeconds: 480, runs: 1 }]);
  });

  it('is not reported for a set that was never run', async () => {
    const { found } = await runsOf();
    expect(await found(minute(60))).toEqual([]);
  });
});
