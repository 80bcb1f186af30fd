/** What a store of measurements must do; see the doc of the port. */
import { describe, expect, it } from 'vitest';
import type { LatestMeasurement, Measurements } from '../../src/measures/measurements.ts';
import type { Measurement } from '../../src/measures/rules/measurement.ts';
import { aGap, aMeasurement, hours } from '../support/measurements.ts';

export function describeMeasurements(open: () => Measurements): void {
  const store = (): Measurements => open();
  const seriesOf = (pipeline: string, until = hours(1000)): Promise<readonly Measurement[]> =>
    store().series({ pipeline, measure: 'error_ratio', segment: 'all' }, hours(-1000), until);
  const latestOf = async (pipeline: string, now = hours(1)): Promise<LatestMeasurement[]> =>
    (await store().latest(now)).filter((latest) => latest.pipeline === pipeline);

  describe('measurements', () => {
    it('come back as they were recorded, with and without bounds, and with their details', async () => {
      const pipeline = 'whole';
      const bounded = aMeasurement({ pipeline, details: { halvings: 2, rates: [0.1, 0.2] } });
      const unbounded = aMeasurement({
        pipeline,
        windowEnd: hours(1),
        ciLow: null,
        ciHigh: null,
        ciMethod: null,
      });
      await store().record([unbounded, bounded]);
      expect(await seriesOf(pipeline)).toEqual([bounded, unbounded]);
    });

    it('count once however often they are recorded', async () => {
      const measurement = aMeasurement({ pipeline: 'twice' });
      await store().record([measurement, measurement]);
      await store().record([measurement]);
      expect(await seriesOf('twice')).toEqual([measurement]);
    });

    it('of the same window are what was measured last, in whatever order they arrive', async () => {
      const pipeline = 'again';
      const first = aMeasurement({ pipeline });
      const second = aMeasurement({ pipeline, measuredAt: hours(1), value: 0.25, n: 50 });
      await store().record([second]);
      await store().record([first]);
      expect(await seriesOf(pipeline)).toEqual([second]);
      await store().record([aMeasurement({ pipeline, measuredAt: hours(2), value: 0.3, n: 60 })]);
      expect(await seriesOf(pipeline)).toMatchObject([{ value: 0.3, n: 60, measuredAt: hours(2) }]);
      expect(await latestOf(pipeline)).toMatchObject([{ newest: { value: 0.3 } }]);
    });

    it('are told apart by pipeline, measure and segment', async () => {
      const pipeline = 'apart';
      await store().record([
        aMeasurement({ pipeline }),
        aMeasurement({ pipeline, segment: 'lang=en', value: 0.21 }),
        aMeasurement({ pipeline, measure: 'zero_results_ratio', value: 0.22 }),
        aMeasurement({ pipeline: 'elsewhere', value: 0.23 }),
      ]);
      expect(await seriesOf(pipeline)).toMatchObject([{ value: 0.2 }]);
      const latest = await latestOf(pipeline);
      expect(latest.map(({ measure, segment, newest }) => [measure, segment, newest?.value])).toEqual([
        ['error_ratio', 'all', 0.2],
        ['error_ratio', 'lang=en', 0.21],
        ['zero_results_ratio', 'all', 0.22],
      ]);
    });

    it('are read from the first instant of a range to before its last, oldest first', async () => {
      const pipeline = 'range';
      const ends = [hours(2), hours(0), hours(1), hours(3)];
      await store().record(ends.map((windowEnd) => aMeasurement({ pipeline, windowEnd })));
      const read = await store().series({ pipeline, measure: 'error_ratio', segment: 'all' }, hours(1), hours(3));
      expect(read.map(({ windowEnd }) => windowEnd)).toEqual([hours(1), hours(2)]);
    });

    it('may be of any time, also years ago', async () => {
      const pipeline = 'long-ago';
      const old = new Date('2019-12-31T23:59:59.999Z');
      const measurement = aMeasurement({ pipeline, windowEnd: old, windowStart: new Date('2019-12-31') });
      await store().record([measurement, aMeasurement({ pipeline })]);
      const read = await store().series(measurement, new Date('2019-01-01'), new Date('2020-01-01'));
      expect(read).toEqual([measurement]);
    });

    it('are refused as a whole when one of them is not finite', async () => {
      const pipeline = 'refused';
      const good = aMeasurement({ pipeline });
      const bad = aMeasurement({ pipeline, segment: 'lang=en', value: Number.NaN });
      await expect(store().record([good, bad])).rejects.toThrow(RangeError);
      expect(await seriesOf(pipeline)).toEqual([]);
    });

    it('of no series cost nothing', async () => {
      await expect(store().record([])).resolves.toBeUndefined();
    });
  });

  describe('the latest of a series', () => {
    it('is not there before the first attempt', async () => {
      expect(await latestOf('never-measured')).toEqual([]);
    });

    it('is the value of the latest window, with the time since it was measured', async () => {
      const pipeline = 'latest';
      const late = aMeasurement({ pipeline, windowEnd: hours(1), measuredAt: hours(1), value: 0.25 });
      await store().record([late]);
      await store().record([aMeasurement({ pipeline, measuredAt: hours(2) })]);
      expect(await latestOf(pipeline, hours(3))).toEqual([
        {
          pipeline,
          measure: 'error_ratio',
          segment: 'all',
          newest: { ...late, ageSeconds: 7200 },
          gap: null,
        },
      ]);
    });

    it('is the reason alone when there never was a value', async () => {
      const pipeline = 'reason';
      const gap = aGap({ pipeline, details: { have: 1, need: 2 } });
      await store().record([gap]);
      expect(await latestOf(pipeline)).toEqual([
        {
          pipeline,
          measure: 'error_ratio',
          segment: 'all',
          newest: null,
          gap: { ...gap, ageSeconds: 3600 },
        },
      ]);
      expect(await seriesOf(pipeline)).toEqual([]);
    });

    it('keeps its value beside the reason why a later window has none', async () => {
      const pipeline = 'gap-after-value';
      await store().record([aMeasurement({ pipeline })]);
      await store().record([aGap({ pipeline, windowEnd: hours(1) })]);
      await store().record([aGap({ pipeline, windowEnd: hours(2), reason: 'no_queries' })]);
      expect(await latestOf(pipeline)).toMatchObject([
        { newest: { value: 0.2 }, gap: { reason: 'no_queries', windowEnd: hours(2) } },
      ]);
    });

    it('has no reason any more when the same or a later window has a value', async () => {
      for (const windowEnd of [hours(1), hours(2)]) {
        const pipeline = `filled-${windowEnd.getTime()}`;
        await store().record([aGap({ pipeline, windowEnd: hours(1) })]);
        await store().record([aMeasurement({ pipeline, windowEnd })]);
        await store().record([aGap({ pipeline, windowEnd: hours(1) })]);
        expect(await latestOf(pipeline)).toMatchObject([{ newest: { windowEnd }, gap: null }]);
      }
    });

    it('keeps its reason when only an earlier window gets a value', async () => {
      const pipeline = 'earlier-value';
      await store().record([aGap({ pipeline, windowEnd: hours(2) })]);
      await store().record([aMeasurement({ pipeline, windowEnd: hours(1) })]);
      expect(await latestOf(pipeline)).toMatchObject([{ newest: { value: 0.2 }, gap: { windowEnd: hours(2) } }]);
    });
  });
}
