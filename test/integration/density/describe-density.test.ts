import { expect, it } from 'vitest';
import { describeDensity } from '../../../src/density/describe-density.ts';
import type { WatchingPhase } from '../../../src/density/rules/watch-state.ts';
import type { StoredDensityState } from '../../../src/density/watch-table.ts';
import { valueNow } from '../../../src/index/probes/probes.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';

const database = useDatabase();
let pipelines = 0;
const DAY = 86_400_000;
const NOW = new Date('2026-11-20T15:00:00Z');

/** True if coverage has outgrown a baseline with this density, given one value for each of the last days. */
async function hasOutgrown(daily: readonly (number | null)[], baseline: number): Promise<boolean> {
  const measurements = createMeasurements(database.pool);
  const pipeline = `docs-${(pipelines += 1)}`;
  await measurements.record(
    daily.flatMap((value, i) => {
      const at = new Date(NOW.getTime() - (daily.length - i) * DAY);
      return value === null ? [] : [valueNow(pipeline, 'query_density', at, { value, n: 300 })];
    }),
  );
  const phase = { kind: 'watching', density: baseline, untilMs: 0, alerts: {} } as WatchingPhase;
  const stored = { state: { phase, closedMs: 0 }, revision: 1, updatedAt: NOW } as StoredDensityState;
  const watch = { find: async () => stored, events: async () => [] };
  const clock = { now: () => NOW, monotonicMs: () => 0, sleep: async () => {} };
  const request = { pipeline, segment: 'all', from: new Date(0), until: NOW };
  const description = await describeDensity(
    contextOf({ db: { density: { watch }, measurements }, clock, densityPlans: [] }),
    request,
    null,
  );
  return description.outgrew_baseline;
}

const days = (count: number, value: number): number[] => Array.from({ length: count }, () => value);

it('coverage outgrows its baseline after fourteen days above it', async () => {
  expect(await hasOutgrown(days(14, 1.2), 1)).toBe(true);
  expect(await hasOutgrown(days(20, 1.2), 1)).toBe(true);
});

it('coverage does not outgrow its baseline after fewer days, with a missing day, or if it is only slightly higher', async () => {
  expect(await hasOutgrown(days(13, 1.2), 1)).toBe(false);
  expect(await hasOutgrown([...days(7, 1.2), null, ...days(6, 1.2)], 1)).toBe(false);
  expect(await hasOutgrown(days(14, 1.2), 1.15)).toBe(false);
});
