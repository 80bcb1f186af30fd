/** What runs were found to be against other runs, and which labels they found to be stale. */
import type pg from 'pg';
import type { ComparedWithBaseline } from '../../checks/rules/regression.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { RunDifference, StoredComparison } from '../rules/compare-golden-runs.ts';
import type { DocumentFate, StaleLabel } from '../rules/labels.ts';
import type { GoldenRun } from '../rules/run.ts';
import { type Accepted, CLEAR_P, MAX_ACCEPTED } from '../rules/run-noise.ts';
import { isCleanBesideBaseline } from './clean-runs.ts';

export interface DifferenceRow extends Omit<RunDifference, 'key'> {
  readonly run_id: string;
  readonly kind: StoredComparison['kind'];
  readonly against: string;
  readonly k: number;
}

/** Each column with its type and the field of a difference that it holds. */
const columns = [
  ['segment', 'text', 'segment'],
  ['measure', 'text', 'measure'],
  ['k', 'integer', 'k'],
  ['n', 'integer', 'n'],
  ['excluded', 'integer', 'excluded'],
  ['baseline', 'double precision', 'baseline'],
  ['candidate', 'double precision', 'candidate'],
  ['difference', 'double precision', 'difference'],
  ['ci_low', 'double precision', 'ciLow'],
  ['ci_high', 'double precision', 'ciHigh'],
  ['ci_method', 'text', 'ciMethod'],
  ['t', 'double precision', 't'],
  ['df', 'double precision', 'df'],
  ['p_t', 'double precision', 'pT'],
  ['p_randomization', 'double precision', 'pRandomization'],
  ['p_method', 'text', 'pMethod'],
  ['mcnemar_p', 'double precision', 'mcnemarP'],
  ['p', 'double precision', 'p'],
  ['wins', 'integer', 'wins'],
  ['losses', 'integer', 'losses'],
  ['ties', 'integer', 'ties'],
  ['standard_deviation', 'double precision', 'standardDeviation'],
  ['smallest_detectable_difference', 'double precision', 'smallestDetectableDifference'],
  ['verdict', 'text', 'verdict'],
] as const;

const names = columns.map(([name]) => name).join(', ');
/** As the fields of a row. */
export const selectedDifferences = columns.map(([name, , field]) => `c.${name} as "${field}"`).join(', ');

const insertSql = `
  insert into golden_run_comparisons (run_id, kind, against, ${names})
  select $1::text, $2::text, $3::text, d.*
    from unnest(${columns.map(([, type], index) => `$${index + 4}::${type}[]`).join(', ')}) as d`;

export async function insertComparison(
  client: pg.PoolClient,
  runId: string,
  { kind, against, differences }: StoredComparison,
): Promise<void> {
  const values = columns.map(([, , field]) =>
    differences.map((difference) => (field === 'k' ? difference.key.k : difference[field])),
  );
  await client.query(insertSql, [runId, kind, against, ...values]);
}

export async function insertStaleLabels(
  client: pg.PoolClient,
  runId: string,
  labels: readonly StaleLabel[],
): Promise<void> {
  await client.query(
    `insert into golden_run_stale_labels (run_id, query_id, document_id, grade, fate)
     select $1::text, l.* from unnest($2::text[], $3::text[], $4::integer[], $5::text[]) as l`,
    [
      runId,
      labels.map((l) => l.queryId),
      labels.map((l) => l.documentId),
      labels.map((l) => l.grade),
      labels.map((l) => l.fate),
    ],
  );
}

export async function readComparisons(db: pg.Pool, runId: string): Promise<StoredComparison[]> {
  const { rows } = await db.query<DifferenceRow>(
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
): Promise<ComparedWithBaseline[]> {
  const { rows } = await db.query<DifferenceRow>(
    `select c.run_id, c.kind, c.against, ${selectedDifferences} from golden_run_comparisons c
       join (select id, started_at, golden_set_version from golden_runs
              where pipeline = $1::text and golden_set = $2::text and status = 'completed' and purpose = 'full'
                and golden_set_version <= $3::integer
              order by golden_set_version desc, started_at desc, id desc limit $4::integer) r on r.id = c.run_id
      where c.kind = 'baseline' and c.segment = '${ALL_SEGMENT}'
      order by r.golden_set_version, r.started_at, r.id`,
    [pipeline, goldenSet, upToVersion, limit],
  );
  const byRun = new Map<string, DifferenceRow[]>();
  for (const row of rows) byRun.set(row.run_id, [...(byRun.get(row.run_id) ?? []), row]);
  return [...byRun].map(([runId, own]) => ({
    runId,
    baselineRunId: own[0]?.against ?? '',
    metrics: own.map(toDifference),
  }));
}

/**
 * By how much did what was accepted differ from a baseline? Each day, or each generation of the index, counts by its last
 * clean run, if that was no clear regression. The one that is under way is left out, and so is the generation of the
 * baseline among generations.
 */
const acceptedSql = (periods: string): string => `
  with periods as (${periods}), last_runs as (
    select periods.since, r.id
      from periods
     cross join lateral (
       select id from golden_runs r
        where pipeline = $1::text and golden_set = $2::text and status = 'completed' and purpose = 'full'
          and finished_at >= periods.since and finished_at < periods.until
          -- No run takes longer than 24 days: the index need not be read further back.
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

/** Of UTC, from that of the baseline; a hundred are enough to find thirty. */
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

export async function readGoneLabels(
  db: pg.Pool,
  runId: string,
  fates: readonly DocumentFate[],
): Promise<StaleLabel[]> {
  const { rows } = await db.query<StaleLabel>(
    `select query_id as "queryId", document_id as "documentId", grade, fate
       from golden_run_stale_labels where run_id = $1::text and fate = any ($2::text[]) order by query_id, document_id`,
    [runId, fates],
  );
  return rows;
}

export function toDifference({
  run_id: _runId,
  kind: _kind,
  against: _against,
  k,
  ...row
}: DifferenceRow): RunDifference {
  return { ...row, key: { measure: row.measure, k } };
}
