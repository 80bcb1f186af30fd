/** Stores scheduled measurements in PostgreSQL, and exports the latest ones as gauges. */
import type { Pool, PoolClient } from 'pg';
import { snakeCase } from '../core/text/names.ts';
import type { GaugeSample } from '../platform/metrics/meter.ts';
import { namingOutage } from '../platform/postgres/outage.ts';
import { createMonths, daysAhead, dropMonthsBefore } from '../platform/postgres/partitions.ts';
import { type Columns, insertRows, queryRows } from '../platform/postgres/rows.ts';
import { inTransaction } from '../platform/postgres/transaction.ts';
import { asNumbers, readTrends } from './measurement-history.ts';
import { measureRow } from './rules/measure-table.ts';
import {
  ageSeconds,
  checkMeasurement,
  type IntervalOf,
  type Measurement,
  type MeasurementGap,
  type MeasurementOutcome,
  type MeasurementSeries,
  measurementTrustSeconds,
} from './rules/measurement.ts';

const attemptColumns = {
  pipeline: 'text',
  measure: 'text',
  segment: 'text',
  windowStart: 'timestamptz',
  windowEnd: 'timestamptz',
  measuredAt: 'timestamptz',
  details: 'jsonb',
} as const satisfies Columns;
const valueColumns = {
  ...attemptColumns,
  value: 'double precision',
  ciLow: 'double precision',
  ciHigh: 'double precision',
  ciMethod: 'text',
  n: 'integer',
} as const satisfies Columns;
const gapColumns = { ...attemptColumns, reason: 'text' } as const satisfies Columns;

const listed = (columns: Columns): string => Object.keys(columns).map(snakeCase).join(', ');
const measurementColumns = `'value' as kind, ${listed(valueColumns)}`;

/**
 * Returns the `on conflict` clause of an upsert: if a row with the same `keys` exists, all its other columns are
 * replaced.
 */
function replacing(columns: Columns, keys: readonly string[]): string {
  const assignments = Object.keys(columns)
    .filter((key) => !keys.includes(key))
    .map((key) => `${snakeCase(key)} = excluded.${snakeCase(key)}`);
  return `on conflict (${keys.map(snakeCase).join(', ')}) do update set ${assignments.join(', ')}`;
}

const seriesKeys = ['pipeline', 'measure', 'segment'] as const;

/**
 * Inserts values, and replaces older measurements of the same series and window end. Deletes the gap of a series if the
 * gap's window ends no later than the value's window.
 */
async function upsertValues(client: PoolClient, measurements: readonly Measurement[]): Promise<void> {
  if (measurements.length === 0) return;
  const values = latestOf(measurements);
  await insertRows(
    client,
    'measurements',
    valueColumns,
    values,
    `${replacing(valueColumns, [...seriesKeys, 'windowEnd'])} where excluded.measured_at >= measurements.measured_at`,
  );
  const windows = ([...seriesKeys, 'windowEnd'] as const).map((key) => values.map((m) => m[key]));
  await client.query(updateHoursSql, windows);
  await insertRows(
    client,
    'latest_measurements as l',
    valueColumns,
    newestOf(values),
    `${replacing(valueColumns, seriesKeys)} where (excluded.window_end, excluded.measured_at) >= (l.window_end, l.measured_at)`,
  );
  await client.query(
    `delete from measurement_gaps g
      using unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) as m (pipeline, measure, segment, window_end)
      where (g.pipeline, g.measure, g.segment) = (m.pipeline, m.measure, m.segment) and g.window_end <= m.window_end`,
    windows,
  );
}

/** Recomputes the extremes of each affected hour from all its rows, because a value may have been replaced. */
const updateHoursSql = `
  insert into measurement_hours (pipeline, measure, segment, hour, lowest, highest)
  select h.pipeline, h.measure, h.segment, h.hour, found.lowest, found.highest
    from (select distinct pipeline, measure, segment, date_trunc('hour', window_end, 'UTC') as hour
            from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) as m (pipeline, measure, segment, window_end)
           order by pipeline, measure, segment, hour) h
   cross join lateral (
     select min(${asNumbers}) as lowest, max(${asNumbers}) as highest from measurements m
      where m.pipeline = h.pipeline and m.measure = h.measure and m.segment = h.segment
        and m.window_end >= h.hour and m.window_end < h.hour + interval '1 hour') found
  on conflict (pipeline, measure, segment, hour) do update set lowest = excluded.lowest, highest = excluded.highest`;

/** Stores gaps, unless the same window or a later one has a value. */
async function upsertGaps(client: PoolClient, gaps: readonly MeasurementGap[]): Promise<void> {
  await insertRows(
    client,
    'measurement_gaps as g',
    gapColumns,
    newestOf(latestOf(gaps)),
    `where not exists (select 1 from latest_measurements l
                        where (l.pipeline, l.measure, l.segment) = (new.pipeline, new.measure, new.segment)
                          and l.window_end >= new.window_end)
     ${replacing(gapColumns, seriesKeys)} where (excluded.window_end, excluded.measured_at) >= (g.window_end, g.measured_at)`,
  );
}

/**
 * Returns the latest outcome for each series and window end, sorted by series and then by window end, so that two
 * writers lock rows in the same order.
 */
function latestOf<Outcome extends MeasurementOutcome>(outcomes: readonly Outcome[]): Outcome[] {
  const byKey = new Map<string, Outcome>();
  for (const outcome of outcomes) {
    const key = JSON.stringify([outcome.pipeline, outcome.measure, outcome.segment, outcome.windowEnd.toISOString()]);
    const known = byKey.get(key);
    if (known === undefined || outcome.measuredAt >= known.measuredAt) byKey.set(key, outcome);
  }
  return [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, outcome]) => outcome);
}

/** Returns, for each series, the outcome with the latest window end. @param sorted result of `latestOf` */
function newestOf<Outcome extends MeasurementOutcome>(sorted: readonly Outcome[]): Outcome[] {
  return [...new Map(sorted.map((outcome) => [seriesKey(outcome), outcome])).values()];
}

/** PostgreSQL SQLSTATE for a row that belongs to no partition (check_violation). */
const NO_PARTITION = '23514';

export function createMeasurements(pool: Pool) {
  return {
    /**
     * Stores values and gaps in one transaction. A retry or late data may record the same series and window end again;
     * the latest measurement replaces earlier ones. A gap never removes a value. The latest gap of a series is stored
     * until a value for the same or a later window arrives; earlier gaps are not stored.
     *
     * @throws RangeError for an outcome that `checkMeasurement` rejects
     * @throws RecalldError database_unreachable; in that case, nothing was stored
     */
    async record(outcomes: readonly MeasurementOutcome[]): Promise<void> {
      for (const outcome of outcomes) checkMeasurement(outcome);
      if (outcomes.length === 0) return;
      const values = outcomes.filter((outcome) => outcome.kind === 'value');
      const gaps = outcomes.filter((outcome) => outcome.kind === 'no_data');
      const write = (): Promise<void> =>
        inTransaction(pool, async (client) => {
          await upsertValues(client, values);
          await upsertGaps(client, gaps);
        });
      await namingOutage(pool, async () => {
        try {
          await write();
        } catch (error) {
          if (!isMissingPartition(error)) throw error;
          await createMonths(
            pool,
            values.map(({ windowEnd }) => windowEnd),
          );
          await write();
        }
      });
    },

    /**
     * Returns the newest value and gap of every series. `ageSeconds` is the time since the measurement, not since the
     * window end. Callers must not show stale values.
     */
    latest: (now: Date): Promise<readonly LatestMeasurement[]> => namingOutage(pool, () => readLatest(pool, now)),

    /** Returns the latest `limit` values (default: all) whose windows ended in [`from`, `until`), oldest first. */
    series: ({ pipeline, measure, segment }: MeasurementSeries, from: Date, until: Date, limit?: number) =>
      namingOutage(pool, async (): Promise<readonly Measurement[]> => {
        const rows = await queryRows<Measurement>(
          pool,
          `select ${measurementColumns} from measurements
            where pipeline = $1::text and measure = $2::text and segment = $3::text
              and window_end >= $4::timestamptz and window_end < $5::timestamptz
            order by window_end desc limit $6::integer`,
          [pipeline, measure, segment, from, until, limit ?? null],
        );
        return rows.toReversed();
      }),

    /** Returns the lowest and the highest value of each chart bucket in [`from`, `until`), in chronological order. */
    trends: (series: Parameters<typeof readTrends>[1], from: Date, until: Date) =>
      namingOutage(pool, () => readTrends(pool, series, from, until)),

    /** Returns the values of a segment since `since`, at most one per step, ordered by measure and then by time. */
    history: ({ pipeline, segment, measures }: Parameters<typeof readTrends>[1], since: Date, stepMs: number) =>
      namingOutage(pool, () =>
        queryRows<Measurement>(
          pool,
          `select distinct on (measure, date_bin($4::double precision * interval '1 millisecond', window_end, 'epoch'::timestamptz))
                  ${measurementColumns}
             from measurements
            where pipeline = $1::text and measure = any ($2::text[]) and segment = $5::text and window_end >= $3::timestamptz
            order by measure, date_bin($4::double precision * interval '1 millisecond', window_end, 'epoch'::timestamptz), window_end`,
          [pipeline, measures, since, stepMs, segment],
        ),
      ),

    /** Creates the monthly partitions that the next few days need. `record` creates any missing partitions. */
    createPartitions: (now: Date): Promise<void> => namingOutage(pool, () => createMonths(pool, daysAhead(now))),

    /**
     * Drops the partitions of months that ended before `before`. Deletes the latest value and the gap of a series if
     * their windows ended before that time.
     */
    prune: (before: Date): Promise<void> =>
      namingOutage(pool, async () => {
        await dropMonthsBefore(pool, before);
        for (const table of ['latest_measurements', 'measurement_gaps']) {
          await pool.query(`delete from ${table} where window_end < $1::timestamptz`, [before]);
        }
      }),
  };
}

function isMissingPartition(error: unknown): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return code === NO_PARTITION && constraint === undefined;
}

async function readLatest(pool: Pool, now: Date): Promise<LatestMeasurement[]> {
  const [values, gaps] = await Promise.all([
    queryRows<Measurement>(pool, `select ${measurementColumns} from latest_measurements`),
    queryRows<MeasurementGap>(pool, `select 'no_data' as kind, ${listed(gapColumns)} from measurement_gaps`),
  ]);
  const aged = <Outcome extends MeasurementOutcome>(row: Outcome) => ({
    ...row,
    ageSeconds: ageSeconds(row.measuredAt, now),
  });
  const series = new Map<string, LatestMeasurement>();
  for (const row of values) {
    const { pipeline, measure, segment } = row;
    series.set(seriesKey(row), { pipeline, measure, segment, newest: aged(row), gap: null });
  }
  for (const row of gaps) {
    const { pipeline, measure, segment, windowEnd } = row;
    const newest = series.get(seriesKey(row))?.newest ?? null;
    // Concurrent writers can leave a gap in the database even if the same window or a later one has a value.
    if (newest !== null && newest.windowEnd >= windowEnd) continue;
    series.set(seriesKey(row), { pipeline, measure, segment, newest, gap: aged(row) });
  }
  return [...series].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, latest]) => latest);
}

function seriesKey({ pipeline, measure, segment }: MeasurementSeries): string {
  return JSON.stringify([pipeline, measure, segment]);
}

/** Latest value and latest gap of a series. At least one of `newest` and `gap` is not null. */
export interface LatestMeasurement extends MeasurementSeries {
  /** The latest value. */
  readonly newest: (Measurement & { readonly ageSeconds: number }) | null;
  /** States why a window after `newest` has no value; null if there is no such window. */
  readonly gap: (MeasurementGap & { readonly ageSeconds: number }) | null;
}

/**
 * True if a series has no outcome (value or gap), or if its latest outcome is too old to trust.
 *
 * @param liveIntervalSeconds as for `measurementTrustSeconds`
 */
export function isTooOld({ measure, newest, gap }: LatestMeasurement, now: Date, liveIntervalSeconds = 0): boolean {
  const last = gap ?? newest;
  if (last === null) return true;
  return ageSeconds(last.measuredAt, now) > measurementTrustSeconds({ ...last, measure }, liveIntervalSeconds);
}

/** Returns the latest value; null if a later window has no value, or if the value is too old to trust. */
export function currentValue(latest: LatestMeasurement, now: Date): LatestMeasurement['newest'] {
  return latest.gap !== null || isTooOld(latest, now) ? null : latest.newest;
}

export type Measurements = ReturnType<typeof createMeasurements>;

/** The latest measurements of all series, read once and shared by all readers. */
export interface MeasuredRows {
  readonly measurements: readonly LatestMeasurement[];
}

/** Returns the gauge samples for a value and its bounds, or none if the measure has no gauge. */
export function valueSamples({ pipeline, segment, measure, newest }: Omit<LatestMeasurement, 'gap'>): GaugeSample[] {
  const row = measureRow(measure);
  if (row.gauge === undefined || newest === null) return [];
  const known = { pipeline, segment, k: String(newest.details['k']) };
  const labels = Object.fromEntries(row.labels.map((label) => [label, known[label]]));
  return boundedSamples(row.gauge as GaugeSample['name'], labels, newest);
}

/** Returns the gauge sample and, if known, its bounds `_ci_low` and `_ci_high`. */
export function boundedSamples(
  name: GaugeSample['name'],
  labels: GaugeSample['labels'],
  { value, ciLow, ciHigh }: { readonly value: number; readonly ciLow: number | null; readonly ciHigh: number | null },
): GaugeSample[] {
  const bound = (side: 'low' | 'high', of: number | null): GaugeSample[] =>
    of === null ? [] : [{ name: `${name}_ci_${side}` as GaugeSample['name'], labels, value: of }];
  return [{ name, labels, value }, ...bound('low', ciLow), ...bound('high', ciHigh)];
}

declare module '../core/context.ts' {
  interface Db {
    readonly measurements: Measurements;
  }
  interface Context {
    /** Maximum time between two scheduled runs of a golden set. */
    readonly intervalSeconds: IntervalOf;
    /** Maximum time between two measurements of live traffic. */
    readonly liveIntervalSeconds: number;
    /** Number of false pages that are accepted per pipeline in a period. */
    readonly falsePages: { readonly count: number; readonly periodMs: number };
  }
}
