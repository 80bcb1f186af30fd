/** What each pipeline and golden set last came to: the rows behind the exported gauges. */
import type pg from 'pg';
import type { CheckResult } from '../../checks/rules/threshold.ts';
import { type RunStatus, runStatuses } from '../../core/model.ts';
import type { StoredComparison } from '../rules/compare-golden-runs.ts';
import { failedShare, failureSentence, type OutcomeCounts, type RunLabels, type SegmentScore } from '../rules/run.ts';
import type { RunFailure } from '../rules/run-failure.ts';
import { readComparisons } from './run-comparisons.ts';
import { readChecksOf, readFailure, readForbidden, readOutcomes, readScores, selectLabels } from './run-results.ts';

/** What the exporter needs of the sentinels of one pipeline and golden set. */
export interface LatestSentinel {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly lastAttemptAt: Date;
  /** The latest that came to an end of its own; `hasFallen` is by its status. */
  readonly ended: { readonly finishedAt: Date; readonly hasFallen: boolean } | null;
  /** The latest that stood or fell by its scores: its retriever answered. */
  readonly completed: { readonly startedAt: Date; readonly finishedAt: Date } | null;
}

/** What the exporter needs of one pipeline and golden set. */
export interface LatestRun {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly lastAttemptAt: Date;
  readonly runsByStatus: Readonly<Record<RunStatus, number>>;
  /** The latest run that came to an end of its own: completed, void or failed. */
  readonly ended: {
    readonly durationSeconds: number;
    readonly outcomes: OutcomeCounts;
    /** Forbidden documents that came back; null when the set forbids nothing, or nobody could tell. */
    readonly forbidden: number | null;
    /** Why queries of it failed; null when none did. */
    readonly failure: RunFailure | null;
    readonly checks: readonly CheckResult[];
    /** One sentence; null when it did not fail. */
    readonly failedBecause: string | null;
    readonly finishedAt: Date;
  } | null;
  /** The latest run that completed. */
  readonly completed: {
    readonly startedAt: Date;
    readonly finishedAt: Date;
    readonly scores: readonly SegmentScore[];
    readonly segmentsOverflow: number;
    readonly labels: RunLabels;
    /** Against the pinned baseline; null when none was pinned. */
    readonly baseline: StoredComparison | null;
  } | null;
}

interface LatestRow {
  pipeline: string;
  golden_set: string;
  last_attempt_at: Date;
  statuses: Record<RunStatus, number>;
  ended_id: string | null;
  ended_at: Date | null;
  ended_status: RunStatus | null;
  ended_reason: string | null;
  forbidden_asked: number | null;
  duration_seconds: number | null;
  completed_id: string | null;
  completed_started_at: Date | null;
  completed_at: Date | null;
  segments_overflow: number | null;
  labels: RunLabels;
}

const NEWEST = 'r.golden_set_version desc, r.started_at desc';

/**
 * Full runs, but those of versions that run beside an older one whose scores are exported. They were counted as they were
 * written, and the newest of each set are looked up in an index: history makes it no slower.
 */
const latestSql = `
  with sets as (
    select t.pipeline, t.golden_set, o.from_version as newest_version,
           jsonb_build_object(${runStatuses.map(countOf).join(', ')}) as statuses
      from golden_run_totals t
      left join golden_rotations o on o.pipeline = t.pipeline and o.golden_set = t.golden_set and o.ended_at is null
     where o.from_version is null or t.golden_set_version <= o.from_version
     group by t.pipeline, t.golden_set, o.from_version
  )
  select sets.pipeline, sets.golden_set, attempt.started_at as last_attempt_at, sets.statuses,
         ended.id as ended_id, ended.finished_at as ended_at, ended.forbidden_asked,
         ended.status as ended_status, ended.reason as ended_reason,
         extract(epoch from ended.finished_at - ended.started_at)::double precision as duration_seconds,
         completed.id as completed_id, completed.started_at as completed_started_at, completed.finished_at as completed_at,
         completed.segments_overflow, ${selectLabels('completed')}
    from sets
   cross join lateral (
      ${latestOf('true', 'r.started_at desc')}) attempt
    left join lateral (
      ${latestOf("r.status in ('completed', 'void', 'failed')", NEWEST)}) ended on true
    left join lateral (
      ${latestOf("r.status = 'completed'", NEWEST)}) completed on true
   order by sets.pipeline, sets.golden_set`;

function countOf(status: RunStatus): string {
  return `'${status}', coalesce(sum(t.runs) filter (where t.status = '${status}'), 0)`;
}

function latestOf(condition: string, order: string): string {
  return `
      select * from golden_runs r
       where r.purpose = 'full' and r.pipeline = sets.pipeline and r.golden_set = sets.golden_set
         and (sets.newest_version is null or r.golden_set_version <= sets.newest_version) and ${condition}
       order by ${order} limit 1`;
}

type Results = Pick<NonNullable<LatestRun['completed']>, 'scores' | 'baseline'>;

/**
 * Reads the latest runs time and again. What the queries of a run that ended came to, its scores and its comparisons are
 * written once, so they are read once, and are the same objects from then on. Its checks may be judged again.
 */
export function createLatestRuns(db: pg.Pool): () => Promise<LatestRun[]> {
  const results = rememberLatest((runId) => readResults(db, runId));
  const outcomes = rememberLatest(async (runId) => {
    const counts = await readOutcomes(db, runId);
    const failure = failedShare(counts) === 0 ? null : await readFailure(db, runId);
    return { outcomes: counts, failure, results: (await readForbidden(db, runId)).length };
  });
  return async () => {
    const { rows } = await db.query<LatestRow>(latestSql);
    const endedIds = rows.flatMap(({ ended_id: id }) => (id === null ? [] : [id]));
    const completedIds = rows.flatMap(({ completed_id: id }) => (id === null ? [] : [id]));
    const checks = await readChecksOf(db, endedIds);
    const outcomesOf = await outcomes(endedIds);
    const resultsOf = await results(completedIds);
    return rows.map((row) => {
      const { ended_id: ended, completed_id: completed } = row;
      return toLatest(
        row,
        (completed === null ? null : resultsOf.get(completed)) ?? null,
        (ended === null ? null : outcomesOf.get(ended)) ?? null,
        checks.get(ended ?? '') ?? [],
      );
    });
  };
}

/** Reads what it has not read for the runs before, one after the other, and forgets other runs. */
function rememberLatest<T>(
  read: (runId: string) => Promise<T>,
): (runIds: readonly string[]) => Promise<ReadonlyMap<string, T>> {
  let known: ReadonlyMap<string, T> = new Map();
  return async (runIds) => {
    const now = new Map<string, T>();
    for (const id of runIds) now.set(id, known.get(id) ?? (await read(id)));
    known = now;
    return now;
  };
}

async function readResults(db: pg.Pool, runId: string): Promise<Results> {
  const [scores, comparisons] = await Promise.all([readScores(db, runId), readComparisons(db, runId)]);
  return { scores, baseline: comparisons.find(({ kind }) => kind === 'baseline') ?? null };
}

function toLatest(
  row: LatestRow,
  results: Results | null,
  came: (Pick<NonNullable<LatestRun['ended']>, 'outcomes' | 'failure'> & { readonly results: number }) | null,
  checks: readonly CheckResult[],
): LatestRun {
  return {
    pipeline: row.pipeline,
    goldenSet: row.golden_set,
    lastAttemptAt: row.last_attempt_at,
    runsByStatus: row.statuses,
    ended:
      row.ended_at === null || came === null
        ? null
        : {
            durationSeconds: row.duration_seconds ?? 0,
            outcomes: came.outcomes,
            failure: came.failure,
            forbidden: (row.forbidden_asked ?? 0) === 0 ? null : came.results,
            checks,
            failedBecause: row.ended_status === 'failed' ? failureSentence(row.ended_id, row.ended_reason) : null,
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
            labels: row.labels,
          },
  };
}

interface SentinelRow {
  pipeline: string;
  golden_set: string;
  last_attempt_at: Date;
  ended_at: Date | null;
  has_fallen: boolean | null;
  completed_started_at: Date | null;
  completed_at: Date | null;
}

export async function readLatestSentinels(db: pg.Pool): Promise<LatestSentinel[]> {
  const { rows } = await db.query<SentinelRow>(
    `with recursive sets as (
       (select pipeline, golden_set from golden_runs where purpose = 'sentinel' order by pipeline, golden_set limit 1)
       union all
       select next.pipeline, next.golden_set
         from sets
        cross join lateral (
          select pipeline, golden_set from golden_runs
           where purpose = 'sentinel' and (pipeline, golden_set) > (sets.pipeline, sets.golden_set)
           order by pipeline, golden_set limit 1) next
     )
     select sets.pipeline, sets.golden_set, attempt.started_at as last_attempt_at,
            ended.finished_at as ended_at, ended.reason is not null as has_fallen,
            completed.started_at as completed_started_at, completed.finished_at as completed_at
       from sets
      cross join lateral (
         select started_at from golden_runs r
          where r.pipeline = sets.pipeline and r.golden_set = sets.golden_set and r.purpose = 'sentinel'
          order by r.started_at desc limit 1) attempt
       left join lateral (
         select finished_at, reason from golden_runs r
          where r.pipeline = sets.pipeline and r.golden_set = sets.golden_set and r.purpose = 'sentinel'
            and r.status in ('completed', 'void')
          order by r.started_at desc limit 1) ended on true
       left join lateral (
         select started_at, finished_at from golden_runs r
          where r.pipeline = sets.pipeline and r.golden_set = sets.golden_set and r.purpose = 'sentinel'
            and r.status = 'completed'
          order by r.started_at desc limit 1) completed on true
      order by sets.pipeline, sets.golden_set`,
  );
  return rows.map((row) => ({
    pipeline: row.pipeline,
    goldenSet: row.golden_set,
    lastAttemptAt: row.last_attempt_at,
    ended: row.ended_at === null ? null : { finishedAt: row.ended_at, hasFallen: row.has_fallen === true },
    completed:
      row.completed_at === null || row.completed_started_at === null
        ? null
        : { startedAt: row.completed_started_at, finishedAt: row.completed_at },
  }));
}
