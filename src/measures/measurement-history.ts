/** Reads stored measurements over time, for charts and for backtests. */
import type { Pool } from 'pg';
import { DAY_MS } from '../core/time.ts';
import { finiteOrNull } from '../math/stats/descriptive.ts';
import { queryRows } from '../platform/postgres/rows.ts';
import { streamRows } from '../platform/postgres/stream-rows.ts';
import type { Measurement, MeasurementSeries } from './rules/measurement.ts';

/**
 * A measurement `m` as an array of numbers. The value comes first, so that `min` and `max` over the arrays return the
 * measurements with the lowest and highest values.
 */
export const asNumbers = `array[m.value, extract(epoch from m.window_end)::double precision,
  coalesce(m.ci_low, '-infinity'), coalesce(m.ci_high, 'infinity')]`;

/** Number of buckets in a chart. Each bucket shows its lowest and highest values, so that no spike is lost. */
const TREND_BUCKETS = 96;
/** Maximum time range that is read from single measurements; longer ranges are read from `measurement_hours`. */
const MAX_BY_ROW_MS = 2 * DAY_MS;

/** @param source query that returns rows `(measure, lowest, highest)`; the last two columns are `asNumbers` arrays */
function trendSql(source: string): string {
  return `select measure, min(lowest) as lowest, max(highest) as highest
    from (${source}) found
   where lowest[2] >= extract(epoch from $4::timestamptz) and highest[2] < extract(epoch from $5::timestamptz)
   group by measure, floor((lowest[2] - extract(epoch from $4::timestamptz)::double precision) / $6::double precision)
   order by measure, min(lowest[2])`;
}

const ofSeries = `m.pipeline = $1::text and m.measure = any ($2::text[]) and m.segment = $3::text`;

const trendOfRowsSql = trendSql(`
  select m.measure, ${asNumbers} as lowest, ${asNumbers} as highest from measurements m
   where ${ofSeries} and m.window_end >= $4::timestamptz and m.window_end < $5::timestamptz`);

const trendOfHoursSql = trendSql(`
  select m.measure, m.lowest, m.highest from measurement_hours m
   where ${ofSeries} and m.hour >= date_trunc('hour', $4::timestamptz, 'UTC') and m.hour < $5::timestamptz`);

/** Returns the lowest and the highest value of each chart bucket, by measure. */
export async function readTrends(
  pool: Pool,
  {
    pipeline,
    segment,
    measures,
  }: { readonly pipeline: string; readonly segment: string; readonly measures: readonly string[] },
  from: Date,
  until: Date,
): Promise<ReadonlyMap<string, readonly MeasuredPoint[]>> {
  const lengthMs = until.getTime() - from.getTime();
  const rows = await queryRows<{ measure: string; lowest: number[]; highest: number[] }>(
    pool,
    lengthMs > MAX_BY_ROW_MS ? trendOfHoursSql : trendOfRowsSql,
    [pipeline, measures, segment, from, until, lengthMs / 1000 / TREND_BUCKETS],
  );
  const trends = new Map(measures.map((measure) => [measure, [] as MeasuredPoint[]]));
  for (const { measure, lowest, highest } of rows) {
    const extremes = [lowest, highest].map(pointOf).toSorted((a, b) => a.at.getTime() - b.at.getTime());
    // In a bucket with a single value, both extremes are this value, which is shown once.
    trends.get(measure)?.push(...(lowest[1] === highest[1] ? extremes.slice(1) : extremes));
  }
  return trends;
}

/** A chart point. */
export type MeasuredPoint = ReturnType<typeof pointOf>;

function pointOf([value = 0, epoch = 0, low = 0, high = 0]: readonly number[]) {
  // `low` and `high` are null for a measure that has no 95 % bounds.
  return { at: new Date(epoch * 1000), value, low: finiteOrNull(low), high: finiteOrNull(high) };
}

/** The values of a measure at one time, by segment. */
export interface MeasuredMoment {
  readonly at: Date;
  readonly values: readonly Pick<Measurement, 'kind' | 'segment' | 'value' | 'ciLow' | 'ciHigh' | 'n'>[];
}

/**
 * Yields the values of a measure for windows that ended in [`from`, `until`), in chronological order, grouped by window
 * end.
 *
 * @param segment null for all segments
 * @throws the errors of streamRows
 */
export async function* replayMeasure(
  pool: Pool,
  { pipeline, measure, segment }: Pick<MeasurementSeries, 'pipeline' | 'measure'> & { readonly segment: string | null },
  from: Date,
  until: Date,
  signal: AbortSignal,
): AsyncGenerator<MeasuredMoment> {
  const sql = `select 'value' as kind, segment, window_end as at, value, ci_low as "ciLow", ci_high as "ciHigh", n from measurements
    where pipeline = $1::text and measure = $2::text and window_end >= $3::timestamptz and window_end < $4::timestamptz
      ${segment === null ? '' : 'and segment = $5::text'}
    order by window_end, segment`;
  const values = [pipeline, measure, from, until, ...(segment === null ? [] : [segment])];
  type Row = MeasuredMoment['values'][number] & { readonly at: Date };
  let moment: { readonly at: Date; readonly values: Row[] } | null = null;
  for await (const rows of streamRows<Row>(pool, sql, values, signal)) {
    for (const value of rows) {
      const { at } = value;
      if (moment?.at.getTime() === at.getTime()) {
        moment.values.push(value);
        continue;
      }
      if (moment !== null) yield moment;
      moment = { at, values: [value] };
    }
  }
  if (moment !== null) yield moment;
}
