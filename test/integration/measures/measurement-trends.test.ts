import { describe, expect, it } from 'vitest';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { useDatabase } from '../../support/database.ts';
import { aMeasurement, hours } from '../../support/measurements.ts';

const database = useDatabase();
let pipelines = 0;

const MINUTES = 5;

/**
 * Stores a value of `error_ratio` for every five minutes of `days`, beginning at noon; `valueOf` computes each value
 * from its index.
 */
async function measured(days: number, valueOf: (index: number) => number) {
  const measurements = createMeasurements(database.pool);
  const pipeline = `docs-${(pipelines += 1)}`;
  const at = (index: number): Date => hours((index * MINUTES) / 60);
  const count = (days * 24 * 60) / MINUTES;
  const record = (index: number, value: number, measuredAt = at(index)) =>
    aMeasurement({
      pipeline,
      measure: 'error_ratio',
      value,
      ciLow: null,
      ciHigh: null,
      windowStart: at(index),
      windowEnd: at(index),
      measuredAt,
    });
  await measurements.record(Array.from({ length: count }, (_, index) => record(index, valueOf(index))));
  const trend = async (from: Date, until: Date) => {
    const series = { pipeline, segment: 'all', measures: ['error_ratio', 'queries'] };
    return (await measurements.trends(series, from, until)).get('error_ratio') ?? [];
  };
  return { measurements, record, at, count, trend };
}

describe('the trend of a measure', () => {
  it('contains every value of some hours', async () => {
    const { trend, at } = await measured(1, (index) => index);
    const points = await trend(at(0), at(12));
    expect(points.map(({ value }) => value)).toEqual([...Array(12).keys()]);
    expect(points[3]).toEqual({ at: at(3), value: 3, low: null, high: null });
  });

  it('keeps a spike of five minutes among the few points of some weeks', async () => {
    const { trend, at, count } = await measured(28, (index) => (index === 4321 ? 0.9 : 0.1 + index / 1e6));
    const points = await trend(at(0), at(count));
    expect(points.length).toBeLessThanOrEqual(192);
    expect(points.filter(({ value }) => value === 0.9)).toEqual([{ at: at(4321), value: 0.9, low: null, high: null }]);
    expect(points[0]?.at).toEqual(at(0));
    const times = points.map((point) => point.at.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('omits a value that was replaced', async () => {
    const { measurements, record, trend, at, count } = await measured(3, (index) => (index === 100 ? 0.9 : 0.1));
    await measurements.record([record(100, 0.2, at(count))]);
    const values = (await trend(at(0), at(count))).map(({ value }) => value);
    expect(values).toContain(0.2);
    expect(values).not.toContain(0.9);
  });

  it('contains no value outside its time span', async () => {
    const { trend, at } = await measured(4, (index) => index);
    const points = await trend(at(6), at(6 + 3 * 288));
    expect(points[0]?.value).toBeGreaterThanOrEqual(6);
    expect(points.at(-1)?.value).toBeLessThan(6 + 3 * 288);
  });
});
