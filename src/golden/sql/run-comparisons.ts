/** Stored comparisons of runs, and the stale labels that runs found. */
import type pg from 'pg';
import type { ComparedWithBaseline } from '../../checks/rules/regression.ts';
import { groupBy } from '../../core/group-by.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { snakeCase } from '../../core/text/names.ts';
import { insertRows, queryRows } from '../../platform/postgres/rows.ts';
import type { RunDifference, StoredComparison } from '../rules/compare-golden-runs.ts';
import type { MissingLabel } from '../rules/labels.ts';
import type { GoldenRun } from '../rules/run.ts';
import { type Accepted, CLEAR_P, MAX_ACCEPTED } from '../rules/run-noise.ts';
import { isCleanBesideBaseline } from './clean-runs.ts';

export type DifferenceRow = Omit<RunDifference, 'key'> &
  Pick<StoredComparison, 'kind' | 'against'> & { readonly runId: string; readonly k: number };

const columns = {
  segment: 'text',
  measure: 'text',
  k: 'integer',
  n: 'integer',
  excluded: 'integer',
  baseline: 'double precision',
  candidate: 'double precision',
  difference: 'double precision',
  ciLow: 'double precision',
  ciHigh: 'double precision',
  ciMethod: 'text',
  t: 'double precision',
  df: 'double precision',
  pT: 'double precision',
  pRandomization: 'double precision',
  pMethod: 'text',
  mcnemarP: 'double precision',
  p: 'double precision',
  wins: 'integer',
  losses: 'integer',
  ties: 'integer',
  standardDeviation: 'double precision',
  smallestDetectableDifference: 'double precision',
  verdict: 'text',
} as const;

export const selectedDifferences = Object.keys(columns)
  .map((field) => `c.${snakeCase(field)} as "${field}"`)
  .join(', ');

export async function insertComparison(
  client: pg.PoolClient,
  runId: string,
  { kind, against, differences }: StoredComparison,
): Promise<void> {
  const all = { runId: 'text', kind: 'text', against: 'text', ...columns } as const;
  const rows = differences.map((difference) => ({ ...difference, runId, kind, against, k: difference.key.k }));
  await insertRows(client, 'golden_run_comparisons', all, rows);
}

export async function insertMissingLabels(
  client: pg.PoolClient,
  runId: string,
  labels: readonly MissingLabel[],
): Promise<void> {
  const types = { runId: 'text', queryId: 'text', documentId: 'text', grade: 'integer', fate: 'text' } as const;
  const rows = labels.map((label) => ({ ...label, runId }));
  await insertRows(client, 'golden_run_missing_documents', types, rows);
}

export async function readComparisons(db: pg.Pool, runId: string): Promise<readonly StoredComparison[]> {
  const rows = await queryRows<DifferenceRow>(
    db,
    `select c.run_id, c.kind, c.against, ${selectedDifferences} from golden_run_comparisons c where c.run_id = $1::text
      order by c.kind, c.segment <> '${ALL_SEGMENT}', c.segment, c.measure, c.k`,
    [runId],
  );
  return (['baseline', 'deployment'] as const).flatMap((kind) => {
    const own = rows.filter((row) => row.kind === kind);
    const against = own[0]?.against;
    return against === undefined ? [] : [{ kind, against, differences: own.map(toDifference) }];
  });
}

export async function readComparedWithBaseline(
  db: pg.Pool,
  pipeline: string,
  goldenSet: string,
  upToVersion: number,
  limit: number,
): Promise<readonly ComparedWithBaseline[]> {
  const rows = await queryRows<DifferenceRow>(
    db,
    `select c.run_id, c.kind, c.against, ${selectedDifferences} from golden_run_comparisons c
       join (select id, started_at, golden_set_version from golden_runs
              where pipeline = $1::text and golden_set = $2::text and status = 'completed' and purpose = 'full'
                and golden_set_version <= $3::integer
              order by golden_set_version desc, started_at desc, id desc limit $4::integer) r on r.id = c.run_id
      where c.kind = 'baseline' and c.segment = '${ALL_SEGMENT}'
      order by r.golden_set_version, r.started_at, r.id`,
    [pipeline, goldenSet, upToVersion, limit],
  );
  return [...groupBy(rows, ({ runId }) => runId)].map(([runId, own]) => ({
    runId,
    baselineRunId: own[0]?.against ?? '',
    metrics: own.map(toDifference),
  }));
}

/**
 * Selects the accepted differences from a baseline. For each day, or each index generation, selects the difference
 * between the baseline and the last clean run, unless this difference was a clear regression. Excludes the day or
 * generation that has not ended yet, and the generation of the baseline itself.
 */
const acceptedSql = (periods: string): string => `
  with periods as (${periods}), last_runs as (
    select periods.since, r.id
      from periods
     cross join lateral (
       select id from golden_runs r
        where pipeline = $1::text and golden_set = $2::text and status = 'completed' and purpose = 'full'
          and finished_at >= periods.since and finished_at < periods.until
          -- No run takes longer than 24 days, which limits how far back the index is read.
          and started_at < periods.until and started_at > periods.since - interval '25 days'
          and exists (select from golden_run_comparisons c
                       where c.run_id = r.id and c.kind = 'baseline' and c.against = $3::text)
          and ${isCleanBesideBaseline}
        order by started_at desc, id desc limit 1) r
     order by periods.since limit ${MAX_ACCEPTED}
  )
  select c.segment, c.measure, c.k, array_to_json(array_agg(c.difference order by last_runs.since)) as differences
    from last_runs
    join golden_run_comparisons c on c.run_id = last_runs.id and c.kind = 'baseline' and not (c.verdict = 'regression' and c.p < ${CLEAR_P})
   group by c.segment, c.measure, c.k`;

const changes = `
  select occurred_at as since, lead(occurred_at) over (order by occurred_at, id) as until
    from deployments
   where pipeline = $1::text and kind in ('index', 'embedder')
     and occurred_at > $4::timestamptz and occurred_at <= $5::timestamptz`;

/**
 * UTC days since the baseline, at most 100. Almost always, these include the required 30 days with a clean run
 * (`MAX_ACCEPTED`).
 */
const days = `
  select greatest(day, $4::timestamptz) as since, day + interval '1 day' as until
    from generate_series(date_trunc('day', $4::timestamptz, 'UTC'), $5::timestamptz - interval '1 day', interval '1 day') as day
   limit 100`;

export async function readAccepted(db: pg.Pool, baseline: GoldenRun, at: Date): Promise<Accepted> {
  const { pipeline, goldenSet, id, finishedAt, startedAt } = baseline;
  const since = finishedAt ?? startedAt;
  const { rows: found } = await db.query(
    `select from deployments where pipeline = $1::text and kind in ('index', 'embedder')
        and occurred_at > $2::timestamptz and occurred_at <= $3::timestamptz limit 1`,
    [pipeline, since, at],
  );
  const unit = found.length === 0 ? 'day' : 'generation';
  const { rows } = await db.query<{ segment: string; measure: string; k: number; differences: readonly number[] }>(
    acceptedSql(unit === 'day' ? days : changes),
    [pipeline, goldenSet, id, since, at],
  );
  const differences: Record<string, Record<string, readonly number[]>> = {};
  for (const row of rows) {
    differences[row.segment] = { ...differences[row.segment], [`${row.measure}@${row.k}`]: row.differences };
  }
  return { unit, differences };
}

export async function readMissingLabels(
  db: pg.Pool,
  runId: string,
  fates: readonly MissingLabel['fate'][],
): Promise<readonly MissingLabel[]> {
  return queryRows<MissingLabel>(
    db,
    `select query_id, document_id, grade, fate
       from golden_run_missing_documents where run_id = $1::text and fate = any($2::text[]) order by query_id, document_id`,
    [runId, fates],
  );
}

export function toDifference({
  runId: _runId,
  kind: _kind,
  against: _against,
  k,
  ...row
}: DifferenceRow): RunDifference {
  return { ...row, key: { measure: row.measure, k } };
}
