import { describe, expect, it } from 'vitest';
import { createMeasurements, type LatestMeasurement } from '../../../src/measures/measurements.ts';
import type { Measurement } from '../../../src/measures/rules/measurement.ts';
import { createPool } from '../../../src/platform/postgres/pool.ts';
import { NOON } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { silentLogger } from '../../support/log.ts';
import { aGap, aMeasurement, hours } from '../../support/measurements.ts';

describe('stored measurements', () => {
  const database = useDatabase();
  const store = () => createMeasurements(database.pool);
  const seriesOf = (pipeline: string, until = hours(1000)): Promise<readonly Measurement[]> =>
    store().series({ pipeline, measure: 'error_ratio', segment: 'all' }, hours(-1000), until);
  const latestOf = async (pipeline: string, now = hours(1)): Promise<LatestMeasurement[]> =>
    (await store().latest(now)).filter((latest) => latest.pipeline === pipeline);

  describe('a value', () => {
    it('is returned as it was recorded, with its bounds and details', async () => {
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

    it('is stored once, however often it is recorded', async () => {
      const measurement = aMeasurement({ pipeline: 'twice' });
      await store().record([measurement, measurement]);
      await store().record([measurement]);
      expect(await seriesOf('twice')).toEqual([measurement]);
    });

    it('is the last measured value of its window, in whatever order the measurements arrive', async () => {
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

    it('belongs to one pipeline, measure and segment', async () => {
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

    it('is read from a half-open time range, oldest first', async () => {
      const pipeline = 'range';
      const ends = [hours(2), hours(0), hours(1), hours(3)];
      await store().record(ends.map((windowEnd) => aMeasurement({ pipeline, windowEnd })));
      const read = await store().series({ pipeline, measure: 'error_ratio', segment: 'all' }, hours(1), hours(3));
      expect(read.map(({ windowEnd }) => windowEnd)).toEqual([hours(1), hours(2)]);
    });

    it('may be years old', async () => {
      const pipeline = 'long-ago';
      const old = new Date('2019-12-31T23:59:59.999Z');
      const measurement = aMeasurement({ pipeline, windowEnd: old, windowStart: new Date('2019-12-31') });
      await store().record([measurement, aMeasurement({ pipeline })]);
      const read = await store().series(measurement, new Date('2019-01-01'), new Date('2020-01-01'));
      expect(read).toEqual([measurement]);
    });

    it('is not stored when another value in the same call is not finite', async () => {
      const pipeline = 'refused';
      const good = aMeasurement({ pipeline });
      const bad = aMeasurement({ pipeline, segment: 'lang=en', value: Number.NaN });
      await expect(store().record([good, bad])).rejects.toThrow(RangeError);
      expect(await seriesOf(pipeline)).toEqual([]);
    });

    it('is not required, because an empty list can be recorded', async () => {
      await expect(store().record([])).resolves.toBeUndefined();
    });
  });

  describe('the latest measurement of a series', () => {
    it('does not exist before the first measurement', async () => {
      expect(await latestOf('never-measured')).toEqual([]);
    });

    it('is the value of the latest window, with its age', async () => {
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

    it('is only a gap if there never was a value', async () => {
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

    it('has both the newest value and the gap of a later window', async () => {
      const pipeline = 'gap-after-value';
      await store().record([aMeasurement({ pipeline })]);
      await store().record([aGap({ pipeline, windowEnd: hours(1) })]);
      await store().record([aGap({ pipeline, windowEnd: hours(2), reason: 'no_queries' })]);
      expect(await latestOf(pipeline)).toMatchObject([
        { newest: { value: 0.2 }, gap: { reason: 'no_queries', windowEnd: hours(2) } },
      ]);
    });

    it('loses its gap when the same or a later window gets a value', async () => {
      for (const windowEnd of [hours(1), hours(2)]) {
        const pipeline = `filled-${windowEnd.getTime()}`;
        await store().record([aGap({ pipeline, windowEnd: hours(1) })]);
        await store().record([aMeasurement({ pipeline, windowEnd })]);
        await store().record([aGap({ pipeline, windowEnd: hours(1) })]);
        expect(await latestOf(pipeline)).toMatchObject([{ newest: { windowEnd }, gap: null }]);
      }
    });

    it('keeps its gap when only an earlier window gets a value', async () => {
      const pipeline = 'earlier-value';
      await store().record([aGap({ pipeline, windowEnd: hours(2) })]);
      await store().record([aMeasurement({ pipeline, windowEnd: hours(1) })]);
      expect(await latestOf(pipeline)).toMatchObject([{ newest: { value: 0.2 }, gap: { windowEnd: hours(2) } }]);
    });
  });
});

describe('measurements in PostgreSQL', () => {
  const database = useDatabase();

  async function months(): Promise<string[]> {
    const { rows } = await database.pool.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'measurements'::regclass order by 1`,
    );
    return rows.map(({ name }) => name);
  }

  it('get the partitions of the coming days once, even from several processes', async () => {
    const stores = [createMeasurements(database.pool), createMeasurements(database.pool)];
    const lastOfMonth = new Date('2026-11-30T12:00:00Z');
    await Promise.all(stores.map((store) => store.createPartitions(lastOfMonth)));
    expect(await months()).toEqual(['measurements_202611', 'measurements_202612']);
  });

  it('are pruned by month, with the latest rows of series that ended', async () => {
    const store = createMeasurements(database.pool);
    const long = (month: string) => new Date(`2025-${month}-15T00:00:00Z`);
    const old = aMeasurement({ pipeline: 'old', windowEnd: long('03'), windowStart: long('02') });
    const kept = aMeasurement({ pipeline: 'kept', windowEnd: long('04'), windowStart: long('03') });
    const gap = aGap({ pipeline: 'old-gap', windowEnd: long('03'), windowStart: long('02') });
    await store.record([old, kept, gap, aMeasurement()]);
    await store.prune(new Date('2025-04-02T00:00:00Z'));
    expect(await months()).not.toContain('measurements_202503');
    expect(await months()).toContain('measurements_202504');
    expect((await store.latest(NOON)).map(({ pipeline }) => pipeline)).toEqual(['docs', 'kept']);
  });

  it('are all stored by many concurrent writers, and the newest value is the latest', async () => {
    const store = createMeasurements(database.pool);
    const segments = ['all', 'a=1', 'a=2', 'a=3'];
    const write = (hour: number): Promise<void> => {
      const rows = segments.map((segment) =>
        aMeasurement({ pipeline: 'many', segment, windowEnd: hours(hour), measuredAt: hours(hour) }),
      );
      return store.record(hour % 2 === 0 ? rows : rows.toReversed());
    };
    await Promise.all(Array.from({ length: 40 }, (_, hour) => write(hour)));
    const all = { pipeline: 'many', measure: 'error_ratio', segment: 'all' };
    expect(await store.series(all, hours(0), hours(40))).toHaveLength(40);
    const latest = (await store.latest(hours(40))).filter(({ pipeline }) => pipeline === 'many');
    expect(latest.map(({ newest }) => newest?.windowEnd)).toEqual(segments.map(() => hours(39)));
  });

  it('are refused with a separate code while the database is unreachable', async () => {
    const port = await freePort();
    const connection = { host: '127.0.0.1', port, user: 'missing', database: 'nowhere' };
    const pool = createPool({ connection, size: 1, logger: silentLogger });
    await expect(createMeasurements(pool).record([aMeasurement()])).rejects.toMatchObject({
      code: 'database_unreachable',
    });
    await pool.end();
  });

  it('are refused with the database error, not as an outage, if a text is invalid', async () => {
    await expect(
      createMeasurements(database.pool).record([aMeasurement({ segment: 'no text\0' })]),
    ).rejects.toMatchObject({ severity: 'ERROR', code: '22021' });
  });
});
