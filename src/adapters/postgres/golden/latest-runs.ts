/** What each pipeline and golden set last came to: the rows behind the exported gauges. */
import type pg from 'pg';
import type { CheckResult } from '../../../core/checks/result.ts';
import type { RunStatus } from '../../../core/model.ts';
import type { LatestRun } from '../../../ports/golden-runs.ts';
import { readComparisons } from './run-comparisons.ts';
import {
  countOutcomes,
  type LabelColumns,
  type OutcomeRow,
  readChecksOf,
  readScores,
  toLabels,
} from './run-results.ts';

interface LatestRow extends LabelColumns {
  pipeline: string;
  golden_set: string;
  last_attempt_at: Date;
  statuses: Partial<Record<RunStatus, number>>;
  ended_id: string | null;
  ended_at: Date | null;
  duration_seconds: number | null;
  outcomes: OutcomeRow[] | null;
  completed_id: string | null;
  completed_started_at: Date | null;
  completed_at: Date | null;
  segments_overflow: number | null;
}

/** Full runs, but those of versions that run beside an older one whose scores are exported. */
const latestSql = `
  with shown as (
    select r.* from golden_runs r
     where r.purpose = 'full'
       and not exists (select from golden_rotations o
                        where o.pipeline = r.pipeline and o.golden_set = r.golden_set and o.ended_at is null
                          and r.golden_set_version > o.from_version)
  ), sets as (
    select pipeline, golden_set, max(started_at) as last_attempt_at
      from shown group by pipeline, golden_set
  ), statuses as (
    select pipeline, golden_set, jsonb_object_agg(status, count) as statuses
      from (select pipeline, golden_set, status, count(*)::integer as count from shown group by pipeline, golden_set, status) c
     group by pipeline, golden_set
  )
  select sets.pipeline, sets.golden_set, sets.last_attempt_at, statuses.statuses,
         ended.id as ended_id, ended.finished_at as ended_at,
         extract(epoch from ended.finished_at - ended.started_at)::double precision as duration_seconds,
         (select jsonb_agg(jsonb_build_object('outcome', o.outcome, 'count', o.count))
            from (select outcome, count(*)::integer as count from golden_run_answers a where a.run_id = ended.id group by outcome) o) as outcomes,
         completed.id as completed_id, completed.started_at as completed_started_at, completed.finished_at as completed_at,
         completed.segments_overflow,
         completed.labels_probed, completed.labels_stale, completed.queries_dead, completed.labels_gap
    from sets
    join statuses using (pipeline, golden_set)
    left join lateral (
      select id, started_at, finished_at from shown r
       where r.pipeline = sets.pipeline and r.golden_set = sets.golden_set and r.status not in ('running', 'cancelled')
       order by r.golden_set_version desc, r.started_at desc limit 1) ended on true
    left join lateral (
      select * from shown r
       where r.pipeline = sets.pipeline and r.golden_set = sets.golden_set and r.status = 'completed'
       order by r.golden_set_version desc, r.started_at desc limit 1) completed on true
   order by sets.pipeline, sets.golden_set`;

type Results = Pick<NonNullable<LatestRun['completed']>, 'scores' | 'baseline'>;

/**
 * Reads the latest runs time and again. Scores and comparisons of a run are written once, when it ends, so they are
 * read once, and are the same objects from then on. Its checks may be judged again.
 */
export function createLatestRuns(db: pg.Pool): () => Promise<LatestRun[]> {
  let known = new Map<string, Results>();
  return async () => {
    const { rows } = await db.query<LatestRow>(latestSql);
    const results = new Map<string, Results>();
    const checks = await readChecksOf(
      db,
      rows.flatMap(({ ended_id: id }) => (id === null ? [] : [id])),
    );
    const latest = await Promise.all(
      rows.map(async (row) => {
        const id = row.completed_id;
        const found = id === null ? null : (known.get(id) ?? (await readResults(db, id)));
        if (id !== null && found !== null) results.set(id, found);
        return toLatest(row, found, checks.get(row.ended_id ?? '') ?? []);
      }),
    );
    known = results;
    return latest;
  };
}

async function readResults(db: pg.Pool, runId: string): Promise<Results> {
  const [scores, comparisons] = await Promise.all([readScores(db, runId), readComparisons(db, runId)]);
  return { scores, baseline: comparisons.find(({ kind }) => kind === 'baseline') ?? null };
}

function toLatest(row: LatestRow, results: Results | null, checks: readonly CheckResult[]): LatestRun {
  const statuses: Record<RunStatus, number> = {
    running: 0,
    completed: 0,
    void: 0,
    failed: 0,
    cancelled: 0,
    ...row.statuses,
  };
  return {
    pipeline: row.pipeline,
    goldenSet: row.golden_set,
    lastAttemptAt: row.last_attempt_at,
    runsByStatus: statuses,
    ended:
      row.ended_at === null
        ? null
        : {
            durationSeconds: row.duration_seconds ?? 0,
            outcomes: countOutcomes(row.outcomes ?? []),
            checks,
            finishedAt: row.ended_at,
          },
    completed:
      row.completed_at === null || results === null
        ? null
        : {
            startedAt: row.completed_started_at ?? row.completed_at,
            finishedAt: row.completed_at,
            ...results,
            segmentsOverflow: row.segments_overflow ?? 0,
            labels: toLabels(row),
          },
  };
}
