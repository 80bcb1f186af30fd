/** Scheduled measures in PostgreSQL. */
import type { Pool } from 'pg';
import { createMonths, daysAhead, dropMonthsBefore } from '../postgres/partitions.ts';
import { namingOutage } from '../postgres/pool.ts';
import { inTransaction } from '../postgres/transaction.ts';
import { gapColumns, upsertGaps, upsertValues, valueColumns } from './measurement-rows.ts';
import type { LatestMeasurement, Measurements } from './ports/measurements.ts';
import { checkMeasurement, type Measurement, type MeasurementGap } from './rules/measurement.ts';

interface AttemptRow {
  pipeline: string;
  measure: string;
  segment: string;
  window_start: Date;
  window_end: Date;
  measured_at: Date;
  details: Record<string, unknown>;
}

interface MeasurementRow extends AttemptRow {
  value: number;
  ci_low: number | null;
  ci_high: number | null;
  ci_method: string | null;
  n: number;
}

interface GapRow extends AttemptRow {
  reason: string;
}

/** What PostgreSQL says of a row that belongs to no partition. */
const NO_PARTITION = '23514';

export function createMeasurements(pool: Pool): Measurements {
  return {
    async record(outcomes) {
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
            'measurements',
            values.map(({ windowEnd }) => windowEnd),
          );
          await write();
        }
      });
    },

    latest: (now) => namingOutage(pool, () => readLatest(pool, now)),

    async series({ pipeline, measure, segment }, from, until) {
      return namingOutage(pool, async () => {
        const { rows } = await pool.query<MeasurementRow>(
          `select ${valueColumns} from measurements
            where pipeline = $1::text and measure = $2::text and segment = $3::text
              and window_end >= $4::timestamptz and window_end < $5::timestamptz
            order by window_end`,
          [pipeline, measure, segment, from, until],
        );
        return rows.map(toMeasurement);
      });
    },

    createPartitions: (now) => namingOutage(pool, () => createMonths(pool, 'measurements', daysAhead(now))),

    prune: (before) =>
      namingOutage(pool, async () => {
        await dropMonthsBefore(pool, 'measurements', before);
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
    pool.query<MeasurementRow>(`select ${valueColumns} from latest_measurements`),
    pool.query<GapRow>(`select ${gapColumns} from measurement_gaps`),
  ]);
  const ageSeconds = ({ measured_at }: AttemptRow): number => (now.getTime() - measured_at.getTime()) / 1000;
  const series = new Map<string, LatestMeasurement>();
  for (const row of values.rows) {
    const newest = { ...toMeasurement(row), ageSeconds: ageSeconds(row) };
    series.set(seriesKey(row), { ...seriesOf(row), newest, gap: null });
  }
  for (const row of gaps.rows) {
    const gap = { ...toGap(row), ageSeconds: ageSeconds(row) };
    const newest = series.get(seriesKey(row))?.newest ?? null;
    // Two writers at once may leave a gap that a value has filled.
    if (newest !== null && newest.windowEnd >= gap.windowEnd) continue;
    series.set(seriesKey(row), { ...seriesOf(row), newest, gap });
  }
  return [...series].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, latest]) => latest);
}

function seriesOf({ pipeline, measure, segment }: AttemptRow) {
  return { pipeline, measure, segment };
}

function seriesKey({ pipeline, measure, segment }: AttemptRow): string {
  return JSON.stringify([pipeline, measure, segment]);
}

function attemptOf(row: AttemptRow) {
  return {
    ...seriesOf(row),
    windowStart: row.window_start,
    windowEnd: row.window_end,
    measuredAt: row.measured_at,
    details: row.details,
  };
}

function toMeasurement(row: MeasurementRow): Measurement {
  return {
    kind: 'value',
    ...attemptOf(row),
    value: row.value,
    ciLow: row.ci_low,
    ciHigh: row.ci_high,
    ciMethod: row.ci_method,
    n: row.n,
  };
}

function toGap(row: GapRow): MeasurementGap {
  return { kind: 'no_data', ...attemptOf(row), reason: row.reason };
}
