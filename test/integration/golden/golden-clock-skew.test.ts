/** Schedulers with different clocks on one database: each tick has one run, and no tick counts as missed. */

import { describe, expect, it } from 'vitest';
import { tickGoldenSet } from '../../../src/golden/runs/tick-golden-set.ts';
import { NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { anEnd } from '../../support/golden-runs.ts';
import { aGoldenWorld } from '../../support/golden-world.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const HOURS = 12;

const hour = (number: number): Date => new Date(NOON.getTime() + number * HOUR_MS);

describe('two schedulers whose clocks differ', () => {
  const database = useDatabase();

  it.each([-95, -5, -0.5, 0.5, 5, 95])(
    'by %s minutes start one run per tick, even while one of them is down',
    async (skewMinutes) => {
      const world = aGoldenWorld(database.pool, NOON, {
        cron: { expression: '0 * * * *', timezone: 'UTC' },
      });
      await world.importSet({});
      const schedulers = [0, skewMinutes * MINUTE_MS];
      // Each scheduler ticks when its own clock shows the planned time, so a scheduler whose clock is ahead ticks
      // early.
      const ticks = schedulers.flatMap((skewMs, scheduler) =>
        Array.from({ length: HOURS }, (_, number) => ({
          plannedAt: hour(number),
          atMs: hour(number).getTime() - skewMs,
          isDown: number >= 4 + 4 * scheduler && number < 7 + 4 * scheduler,
        })),
      );
      for (const { plannedAt, isDown } of ticks.toSorted((a, b) => a.atMs - b.atMs)) {
        if (isDown) continue;
        const deps = contextOf(world.deps, { clock: { ...world.deps.clock, now: () => plannedAt } });
        for (const id of await tickGoldenSet(deps, world.pipeline, world.golden, 'full', plannedAt))
          await world.runs.finish(id, anEnd({ finishedAt: plannedAt }));
      }
      const runs = await world.runs.list({ pipeline: world.pipeline.name, limit: 100 });
      const planned = runs.map(({ scheduledFor }) => scheduledFor?.getTime() ?? 0).toSorted((a, b) => a - b);
      expect(planned).toEqual(Array.from({ length: HOURS }, (_, number) => hour(number).getTime()));
    },
  );
});
