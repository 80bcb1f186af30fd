/** What runs were found to be against other runs, and which labels they found to be stale. */
import type pg from 'pg';
import type { ComparedWithBaseline } from '../../checks/rules/regression.ts';
import type { Measure } from '../../ir/metric-key.ts';
import { ALL_SEGMENT } from '../../model.ts';
import type { ComparisonKind, StoredComparison } from '../ports/golden-runs.ts';
import type { RunDifference } from '../rules/compare-golden-runs.ts';
import type { MetricComparison } from '../rules/comparison/compare-metric.ts';
import type { StaleLabel } from '../rules/label-probe.ts';

interface DifferenceRow {
  run_id: string;
  kind: ComparisonKind;
  against: string;
  segment: string;
  measure: Measure;
  k: number;
  n: number;
  excluded: number;
  baseline: number;
  candidate: number;
  difference: number;
  ci_low: number;
  ci_high: number;
  ci_method: MetricComparison['ciMethod'];
  t: number | null;
  df: number;
  p_t: number;
  p_randomization: number;
  p_method: MetricComparison['pMethod'];
  mcnemar_p: number | null;
  p: number;
  wins: number;
  losses: number;
  ties: number;
  standard_deviation: number;
  smallest_detectable_difference: number | null;
  verdict: MetricComparison['verdict'];
}

/** Each column with its type and what of a difference it holds. */
const columns: readonly (readonly [string, string, (difference: RunDifference) => unknown])[] = [
  ['segment', 'text', (d) => d.segment],
  ['measure', 'text', (d) => d.key.measure],
  ['k', 'integer', (d) => d.key.k],
  ['n', 'integer', (d) => d.n],
  ['excluded', 'integer', (d) => d.excluded],
  ['baseline', 'double precision', (d) => d.baseline],
  ['candidate', 'double precision', (d) => d.candidate],
  ['difference', 'double precision', (d) => d.difference],
  ['ci_low', 'double precision', (d) => d.ciLow],
  ['ci_high', 'double precision', (d) => d.ciHigh],
  ['ci_method', 'text', (d) => d.ciMethod],
  ['t', 'double precision', (d) => d.t],
  ['df', 'double precision', (d) => d.df],
  ['p_t', 'double precision', (d) => d.pT],
  ['p_randomization', 'double precision', (d) => d.pRandomization],
  ['p_method', 'text', (d) => d.pMethod],
  ['mcnemar_p', 'double precision', (d) => d.mcnemarP],
  ['p', 'double precision', (d) => d.p],
  ['wins', 'integer', (d) => d.wins],
  ['losses', 'integer', (d) => d.losses],
  ['ties', 'integer', (d) => d.ties],
  ['standard_deviation', 'double precision', (d) => d.standardDeviation],
  ['smallest_detectable_difference', 'double precision', (d) => d.smallestDetectableDifference],
  ['verdict', 'text', (d) => d.verdict],
];

const names = columns.map(([name]) => name).join(', ');

const insertSql = `
  insert into golden_run_comparisons (run_id, kind, against, ${names})
  select $1::text, $2::text, $3::text, d.*
    from unnest(${columns.map(([, type], index) => `$${index + 4}::${type}[]`).join(', ')}) as d`;

export async function insertComparison(
  client: pg.PoolClient,
  runId: string,
  { kind, against, differences }: StoredComparison,
): Promise<void> {
  const values = columns.map(([, , read]) => differences.map(read));
  await client.query(insertSql, [runId, kind, against, ...values]);
}

export async function insertStaleLabels(
  client: pg.PoolClient,
  runId: string,
  labels: readonly StaleLabel[],
): Promise<void> {
  await client.query(
    `insert into golden_run_stale_labels (run_id, query_id, document_id, grade)
     select $1::text, l.* from unnest($2::text[], $3::text[], $4::integer[]) as l`,
    [runId, labels.map((l) => l.queryId), labels.map((l) => l.documentId), labels.map((l) => l.grade)],
  );
}

export async function readComparisons(db: pg.Pool, runId: string): Promise<StoredComparison[]> {
  const { rows } = await db.query<DifferenceRow>(
    `select run_id, kind, against, ${names} from golden_run_comparisons where run_id = $1::text
      order by kind, segment <> '${ALL_SEGMENT}', segment, measure, k`,
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
    `select c.run_id, c.kind, c.against, ${columns.map(([name]) => `c.${name}`).join(', ')} from golden_run_comparisons c
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

export async function readStaleLabels(db: pg.Pool, runId: string): Promise<StaleLabel[]> {
  const { rows } = await db.query<{ query_id: string; document_id: string; grade: number }>(
    `select query_id, document_id, grade from golden_run_stale_labels where run_id = $1::text
      order by query_id, document_id`,
    [runId],
  );
  return rows.map((row) => ({ queryId: row.query_id, documentId: row.document_id, grade: row.grade }));
}

function toDifference(row: DifferenceRow): RunDifference {
  return {
    key: { measure: row.measure, k: row.k },
    segment: row.segment,
    measure: row.measure,
    n: row.n,
    excluded: row.excluded,
    baseline: row.baseline,
    candidate: row.candidate,
    difference: row.difference,
    ciLow: row.ci_low,
    ciHigh: row.ci_high,
    ciMethod: row.ci_method,
    t: row.t,
    df: row.df,
    pT: row.p_t,
    pRandomization: row.p_randomization,
    pMethod: row.p_method,
    mcnemarP: row.mcnemar_p,
    p: row.p,
    changed: row.wins + row.losses,
    wins: row.wins,
    losses: row.losses,
    ties: row.ties,
    standardDeviation: row.standard_deviation,
    smallestDetectableDifference: row.smallest_detectable_difference,
    verdict: row.verdict,
  };
}
