/** Stored measurements appear in the gauges of measures outside their normal range. */

import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/app/config/schema.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { changeGauges, watchChangesJob } from '../../../src/measures/watch-changes.ts';
import { NOON } from '../../support/builders.ts';
import type { ContextParts } from '../../support/context.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { aMeasurement, hours } from '../../support/measurements.ts';

const database = useDatabase();
const HOUR = 3_600_000;

beforeEach(() => database.pool.query('truncate measurements, latest_measurements, measurement_gaps'));

/** Returns the gauges for values of hourly windows, the last of which ended at noon. */
async function gaugesOf(values: readonly number[], measure: string, parts: ContextParts = {}, segment = 'all') {
  const measurements = createMeasurements(database.pool);
  await measurements.record(
    values.map((value, i) => {
      const end = i - values.length + 1;
      const bounds = { ciLow: value, ciHigh: value };
      return aMeasurement({
        measure,
        segment,
        value,
        ...bounds,
        windowStart: hours(end - 1),
        windowEnd: hours(end),
        measuredAt: hours(end),
      });
    }),
  );
  const context = contextOf(
    {
      db: { measurements, incidents: { list: async () => [] }, live: { deployments: { list: async () => [] } } },
      clock: new HandClock(NOON),
      config: { pipelines: [{ name: 'docs', live: { window: '1h' }, checks: [] }] },
      falsePages: { count: 1, periodMs: 90 * 24 * HOUR },
    },
    parts,
  );
  await watchChangesJob.handle(context, {}, new AbortController().signal);
  const settings = { pipelines: ['docs'], intervalSeconds: () => 3600 };
  return changeGauges(settings, { measurements: await measurements.latest(NOON) });
}

const shown = (gauges: Awaited<ReturnType<typeof gaugesOf>>, at = NOON) =>
  Object.fromEntries(gauges(at).map(({ name, value }) => [name, value]));

const usual = Array.from({ length: 30 }, () => 10);

describe('the gauges of watched measures', () => {
  it('show a drop of results per query from 10 to 3', async () => {
    expect(shown(await gaugesOf([...usual, 3], 'results_per_answer'))).toEqual({
      recalld_measure_value: 3,
      recalld_measure_normal: 10,
      recalld_normal_range: expect.any(Number) as number,
      recalld_measure_changed: 1,
    });
  });

  it('show the limits of the normal range around the normal value', async () => {
    const limits = (await gaugesOf([...usual, 10], 'results_per_answer'))(NOON).filter(
      ({ name }) => name === 'recalld_normal_range',
    );
    const [low, high] = ['low', 'high'].map((bound) => limits.find(({ labels }) => labels['bound'] === bound)?.value);
    expect(low).toBeLessThan(10);
    expect(high).toBeGreaterThan(10);
  });

  it('show a usual value as unchanged', async () => {
    expect(shown(await gaugesOf([...usual, 9.5], 'results_per_answer'))).toMatchObject({ recalld_measure_changed: 0 });
  });

  it('ignore hours with an open incident', async () => {
    const values = [...usual, ...usual.map(() => 3), 3];
    const list = async () => [
      { openedAt: hours(-30), closedAt: null, timeline: [{ rule: 'RecalldQualityRegression' }] },
    ];
    expect(shown(await gaugesOf(values, 'results_per_answer'))).toMatchObject({ recalld_measure_changed: 0 });
    expect(
      shown(await gaugesOf(values, 'results_per_answer', { db: { incidents: { list } } } as unknown as ContextParts)),
    ).toMatchObject({
      recalld_measure_changed: 1,
      recalld_measure_normal: 10,
    });
  });

  it('are absent for measures that have an alert, and while there is too little history', async () => {
    expect(shown(await gaugesOf([...usual.map(() => 0.01), 0.9], 'error_ratio'))).toEqual({});
    const checks = [{ measure: 'context_repeated_ratio' }];
    const config = { pipelines: [{ name: 'docs', live: { window: '1h' }, checks }] } as unknown as Config;
    expect(shown(await gaugesOf([...usual.map(() => 0.01), 0.9], 'context_repeated_ratio', { config }))).toEqual({});
    await database.pool.query('truncate measurements, latest_measurements');
    expect(shown(await gaugesOf([10, 10, 10, 3], 'results_per_answer'))).toEqual({});
  });

  it('cover the measures of each golden set, and do not report more stable results as a change', async () => {
    const alike = [...usual.map(() => 0.98), 0.6];
    const gauges = await gaugesOf(alike, 'rbo', {}, 'golden_set=faq');
    expect(gauges(NOON).map(({ labels }) => labels)).toContainEqual({
      pipeline: 'docs',
      measure: 'rbo',
      segment: 'golden_set=faq',
    });
    expect(shown(gauges)).toMatchObject({ recalld_measure_changed: 1, recalld_measure_normal: 0.98 });
    await database.pool.query('truncate measurements, latest_measurements');
    const better = await gaugesOf([...usual.map(() => 0.6), 0.98], 'rbo', {}, 'golden_set=faq');
    expect(shown(better)).toMatchObject({ recalld_measure_changed: 0 });
    await database.pool.query('truncate measurements, latest_measurements');
    const shorter = await gaugesOf(
      [...usual.map(() => 8000), 2000],
      'golden_context_characters',
      contextOf(),
      'golden_set=faq',
    );
    expect(shown(shorter)).toMatchObject({ recalld_measure_changed: 1 });
  });

  it('are withheld once the value is too old to trust', async () => {
    const gauges = await gaugesOf([...usual, 3], 'results_per_answer');
    expect(shown(gauges, new Date(NOON.getTime() + 900_000))).not.toEqual({});
    expect(shown(gauges, new Date(NOON.getTime() + 901_000))).toEqual({});
  });
});
