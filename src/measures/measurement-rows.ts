/** The multi-row writes of measurements. */
import type { PoolClient } from 'pg';
import type { Measurement, MeasurementGap, MeasurementOutcome } from './rules/measurement.ts';

const attemptColumns = 'pipeline, measure, segment, window_start, window_end, measured_at, details';
export const valueColumns = `${attemptColumns}, value, ci_low, ci_high, ci_method, n`;
export const gapColumns = `${attemptColumns}, reason`;

/** The latest measured of each key replaces what was measured before it, and fills the gaps up to its window. */
export async function upsertValues(client: PoolClient, measurements: readonly Measurement[]): Promise<void> {
  if (measurements.length === 0) return;
  const values = latestOf(measurements);
  const parameters = [
    ...attemptParameters(values),
    values.map((m) => m.value),
    values.map((m) => m.ciLow),
    values.map((m) => m.ciHigh),
    values.map((m) => m.ciMethod),
    values.map((m) => m.n),
  ];
  const rows = `select pipeline, measure, segment, window_start, window_end, measured_at, details::jsonb, value, ci_low, ci_high, ci_method, n
      from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::text[],
                  $8::double precision[], $9::double precision[], $10::double precision[], $11::text[], $12::integer[])
        as m (${valueColumns})`;
  const renewed = ['window_start', 'measured_at', 'details', 'value', 'ci_low', 'ci_high', 'ci_method', 'n'];
  const renewal = renewed.map((column) => `${column} = excluded.${column}`).join(', ');
  await client.query(
    `insert into measurements (${valueColumns}) ${rows}
     on conflict (pipeline, measure, segment, window_end)
     do update set ${renewal}
      where excluded.measured_at >= measurements.measured_at`,
    parameters,
  );
  await client.query(
    `insert into latest_measurements as l (${valueColumns})
     select distinct on (pipeline, measure, segment) * from (${rows}) r
      order by pipeline, measure, segment, window_end desc
     on conflict (pipeline, measure, segment)
     do update set window_end = excluded.window_end, ${renewal}
      where (excluded.window_end, excluded.measured_at) >= (l.window_end, l.measured_at)`,
    parameters,
  );
  await client.query(
    `delete from measurement_gaps g
      using unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) as m (pipeline, measure, segment, window_end)
      where (g.pipeline, g.measure, g.segment) = (m.pipeline, m.measure, m.segment) and g.window_end <= m.window_end`,
    [
      values.map((m) => m.pipeline),
      values.map((m) => m.measure),
      values.map((m) => m.segment),
      values.map((m) => m.windowEnd),
    ],
  );
}

/** A gap is kept unless the same or a later window has a value. */
export async function upsertGaps(client: PoolClient, attempts: readonly MeasurementGap[]): Promise<void> {
  if (attempts.length === 0) return;
  const gaps = latestOf(attempts);
  await client.query(
    `insert into measurement_gaps as g (${gapColumns})
     select distinct on (pipeline, measure, segment)
            pipeline, measure, segment, window_start, window_end, measured_at, details::jsonb, reason
       from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::text[], $8::text[])
         as m (${gapColumns})
      where not exists (select 1 from latest_measurements l
                         where (l.pipeline, l.measure, l.segment) = (m.pipeline, m.measure, m.segment)
                           and l.window_end >= m.window_end)
      order by pipeline, measure, segment, window_end desc
     on conflict (pipeline, measure, segment)
     do update set window_start = excluded.window_start, window_end = excluded.window_end,
                   measured_at = excluded.measured_at, details = excluded.details, reason = excluded.reason
      where (excluded.window_end, excluded.measured_at) >= (g.window_end, g.measured_at)`,
    [...attemptParameters(gaps), gaps.map((g) => g.reason)],
  );
}

/** unnest wants one array per column. */
function attemptParameters(outcomes: readonly MeasurementOutcome[]): unknown[][] {
  return [
    outcomes.map((o) => o.pipeline),
    outcomes.map((o) => o.measure),
    outcomes.map((o) => o.segment),
    outcomes.map((o) => o.windowStart),
    outcomes.map((o) => o.windowEnd),
    outcomes.map((o) => o.measuredAt),
    outcomes.map((o) => JSON.stringify(o.details)),
  ];
}

/** Of outcomes with the same key the one that was measured last, in an order that two writers share. */
function latestOf<Outcome extends MeasurementOutcome>(outcomes: readonly Outcome[]): Outcome[] {
  const byKey = new Map<string, Outcome>();
  for (const outcome of outcomes) {
    const key = keyOf(outcome);
    const known = byKey.get(key);
    if (known === undefined || outcome.measuredAt >= known.measuredAt) byKey.set(key, outcome);
  }
  return [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, outcome]) => outcome);
}

function keyOf({ pipeline, measure, segment, windowEnd }: MeasurementOutcome): string {
  return JSON.stringify([pipeline, measure, segment, windowEnd.toISOString()]);
}
