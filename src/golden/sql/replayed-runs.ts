/** Streams the runs of a golden set, oldest first, each with the data that its checks evaluate. */
import type { Pool } from 'pg';
import { ALL_SEGMENT } from '../../core/model.ts';
import { streamRows } from '../../platform/postgres/stream-rows.ts';
import type { StoredComparison } from '../rules/compare-golden-runs.ts';
import type { ForbiddenResults } from '../rules/forbidden-results.ts';
import type { GoldenRun, RunLabels, SegmentScore } from '../rules/run.ts';
import { ALIVE_SEGMENT } from '../rules/score-run.ts';
import { type DifferenceRow, selectedDifferences, toDifference } from './run-comparisons.ts';
import { scoreColumns, selectForbidden, selectLabels } from './run-results.ts';

export interface ReplayedRun
  extends Pick<GoldenRun, 'id' | 'goldenSetVersion' | 'status' | 'reason' | 'startedAt' | 'forbidden'> {
  readonly finishedAt: Date;
  readonly labels: RunLabels;
  /** Scores over all queries, for the requested measures. */
  readonly scores: readonly SegmentScore[];
  /** Comparison of the run with its baseline, over all queries; null if there was no baseline. */
  readonly comparison: StoredComparison | null;
  readonly returned: ForbiddenResults['confirmed'];
}

export interface ReplayRequest {
  readonly pipeline: string;
  readonly goldenSet: string;
  /** Selects runs that ended at or after `from` and before `until`. */
  readonly from: Date;
  readonly until: Date;
  /** Maximum number of additional runs to yield: the last completed runs that ended before `from`. */
  readonly earlier: number;
  /** Names of the measures, without cutoffs. */
  readonly scored: readonly string[];
  readonly compared: readonly string[];
}

/** No run takes longer than 24 days, so the index scan starts 25 days before `from`. */
const LONGEST_RUN = `interval '25 days'`;

const replayedSql = `
  with replayed as (
    (select * from golden_runs r
      where pipeline = $1::text and golden_set = $2::text and purpose = 'full' and status = 'completed'
        and finished_at < $3::timestamptz and started_at < $3::timestamptz
      order by started_at desc, id desc limit $5::integer)
    union all
    (select * from golden_runs r
      where pipeline = $1::text and golden_set = $2::text and purpose = 'full' and status <> 'cancelled'
        and finished_at >= $3::timestamptz and finished_at < $4::timestamptz
        and started_at >= $3::timestamptz - ${LONGEST_RUN} and started_at < $4::timestamptz)
  )
  select r.id, r.golden_set_version as "goldenSetVersion", r.status, r.reason, r.started_at as "startedAt",
         r.finished_at as "finishedAt", ${selectLabels('r')}, ${selectForbidden('r')},
         (select coalesce(json_agg(f order by f.rank, f."queryId", f."documentId"), '[]')
            from (select query_id as "queryId", document_id as "documentId", rank
                    from golden_run_forbidden where run_id = r.id) f) as returned,
         (select coalesce(json_agg(s), '[]')
            from (select ${scoreColumns} from golden_run_scores s
                   where s.run_id = r.id and s.segment in ('${ALL_SEGMENT}', '${ALIVE_SEGMENT}') and s.measure = any ($6::text[])) s) as scores,
         (select coalesce(json_agg(c), '[]')
            from (select c.run_id as "runId", c.kind, c.against, ${selectedDifferences} from golden_run_comparisons c
                   where c.run_id = r.id and c.kind = 'baseline' and c.segment = '${ALL_SEGMENT}'
                     and c.measure = any ($7::text[])) c) as differences
    from replayed r
   order by r.started_at, r.id`;

type Row = Omit<ReplayedRun, 'comparison'> & { readonly differences: readonly DifferenceRow[] };

/** Yields completed, void and failed runs, oldest first. @throws the same errors as streamRows */
export async function* replayRuns(
  pool: Pool,
  { pipeline, goldenSet, from, until, earlier, scored, compared }: ReplayRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplayedRun> {
  const values = [pipeline, goldenSet, from, until, earlier, scored, compared];
  for await (const rows of streamRows<Row>(pool, replayedSql, values, signal)) {
    for (const { differences, ...run } of rows) yield { ...run, comparison: comparisonOf(differences) };
  }
}

function comparisonOf(rows: readonly DifferenceRow[]): StoredComparison | null {
  const [first] = rows;
  return first === undefined ? null : { kind: 'baseline', against: first.against, differences: rows.map(toDifference) };
}
