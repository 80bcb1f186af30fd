import { describe, expect, it } from 'vitest';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { describeMeasurements } from '../../contract/measurements.contract.ts';
import { NOON } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { silentLogger } from '../../support/log.ts';
import { aGap, aMeasurement, hours } from '../../support/measurements.ts';

describe('in PostgreSQL', () => {
  const database = useDatabase();
  describeMeasurements(() => createMeasurements(database.pool));
});

describe('measurements in PostgreSQL', () => {
  const database = useDatabase();

  async function months(): Promise<string[]> {
    const { rows } = await database.pool.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'measurements'::regclass order by 1`,
    );
    return rows.map(({ name }) => name);
  }

  it('have the months of the next days, each once, whoever makes them', async () => {
    const stores = [createMeasurements(database.pool), createMeasurements(database.pool)];
    const lastOfMonth = new Date('2026-11-30T12:00:00Z');
    await Promise.all(stores.map((store) => store.createPartitions(lastOfMonth)));
    expect(await months()).toEqual(['measurements_202611', 'measurements_202612']);
  });

  it('lose whole months, and the latest of series that ended with them', async () => {
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

  it('of many writers at once are all there, and the newest is the latest', async () => {
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

  it('that cannot be stored name the database', async () => {
    const port = await freePort();
    const connection = { host: '127.0.0.1', port, user: 'nobody', database: 'nowhere' };
    const pool = createPool({ connection, size: 1, logger: silentLogger });
    await expect(createMeasurements(pool).record([aMeasurement()])).rejects.toMatchObject({
      code: 'database_unreachable',
    });
    await pool.end();
  });

  it('do not take a refusal of the database for its silence', async () => {
    await expect(
      createMeasurements(database.pool).record([aMeasurement({ segment: 'no text\0' })]),
    ).rejects.toMatchObject({ severity: 'ERROR', code: '22021' });
  });
});
