import type pg from 'pg';
import { type RunStatus, runStatuses } from '../../core/model.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { failedShare, failureSentence, type RunLabels } from '../rules/run.ts';
import { readComparisons } from './run-comparisons.ts';
import { readChecksOf, readFailure, readForbidden, readOutcomes, readScores, selectLabels } from './run-results.ts';

/** The latest full runs of one pipeline and golden set: the latest finished run, and the latest completed run. */
export type LatestRun = Awaited<ReturnType<ReturnType<typeof createLatestRuns>>>[number];

const NEWEST = 'r.golden_set_version desc, r.started_at desc';
const EXPORTED = `r.purpose = 'full' and (sets.newest_version is null or r.golden_set_version <= sets.newest_version)`;

/**
 * Selects full runs, except those of a new version that still runs alongside an older version whose scores are
 * exported. Uses counts that every write keeps up to date, and finds the newest runs with an index, so that a long
 * history does not slow this query down.
 */
const latestSql = `
  with sets as (
    select t.pipeline, t.golden_set, o.from_version as newest_version,
           jsonb_build_object(${runStatuses.map(countOf).join(', ')}) as runs_by_status
      from golden_run_totals t
      left join golden_rotations o on o.pipeline = t.pipeline and o.golden_set = t.golden_set and o.ended_at is null
     where o.from_version is null or t.golden_set_version <= o.from_version
     group by t.pipeline, t.golden_set, o.from_version
  )
  select sets.pipeline, sets.golden_set, attempt.started_at as last_attempt_at, sets.runs_by_status,
         ended.id as ended_id, ended.finished_at as ended_at, ended.forbidden_asked,
         ended.status as ended_status, ended.reason as ended_reason,
         extract(epoch from ended.finished_at - ended.started_at)::double precision as duration_seconds,
         completed.id as completed_id, completed.started_at as completed_started_at, completed.finished_at as completed_at,
         completed.segments_overflow, ${selectLabels('completed')}
    from sets
   cross join lateral (
      ${latestOf(EXPORTED)}) attempt
    left join lateral (
      ${latestOf(`${EXPORTED} and r.status in ('completed', 'void', 'failed')`, NEWEST)}) ended on true
    left join lateral (
      ${latestOf(`${EXPORTED} and r.status = 'completed'`, NEWEST)}) completed on true
   order by sets.pipeline, sets.golden_set`;

function countOf(status: RunStatus): string {
  return `'${status}', coalesce(sum(t.runs) filter (where t.status = '${status}'), 0)`;
}

function latestOf(condition: string, order = 'r.started_at desc'): string {
  return `
      select * from golden_runs r
       where r.pipeline = sets.pipeline and r.golden_set = sets.golden_set and ${condition}
       order by ${order} limit 1`;
}

/**
 * Returns a function that reads the latest runs. The outcomes, scores and comparisons of a finished run never change,
 * so the function reads them once, and later calls return the same objects. The results of checks are read each time,
 * because the checks of a run may be re-evaluated.
 */
export function createLatestRuns(db: pg.Pool) {
  const results = rememberLatest(async (runId) => {
    const [scores, comparisons] = await Promise.all([readScores(db, runId), readComparisons(db, runId)]);
    return { scores, baseline: comparisons.find(({ kind }) => kind === 'baseline') ?? null };
  });
  const outcomes = rememberLatest(async (runId) => {
    const counts = await readOutcomes(db, runId);
    const failure = failedShare(counts) === 0 ? null : await readFailure(db, runId);
    return { outcomes: counts, failure, forbidden: (await readForbidden(db, runId)).length };
  });
  return async () => {
    const rows = await queryRows<{
      readonly pipeline: string;
      readonly goldenSet: string;
      readonly lastAttemptAt: Date;
      readonly runsByStatus: Readonly<Record<RunStatus, number>>;
      readonly endedId: string | null;
      readonly endedAt: Date | null;
      readonly endedStatus: RunStatus | null;
      readonly endedReason: string | null;
      readonly forbiddenAsked: number | null;
      readonly durationSeconds: number | null;
      readonly completedId: string | null;
      readonly completedStartedAt: Date | null;
      readonly completedAt: Date | null;
      readonly segmentsOverflow: number | null;
      readonly labels: RunLabels;
    }>(db, latestSql);
    const endedIds = rows.flatMap(({ endedId }) => endedId ?? []);
    const checksOf = await readChecksOf(db, endedIds);
    const outcomesOf = await outcomes(endedIds);
    const resultsOf = await results(rows.flatMap(({ completedId }) => completedId ?? []));
    return rows.map(({ pipeline, goldenSet, lastAttemptAt, runsByStatus, endedAt, completedAt, ...row }) => {
      const came = outcomesOf.get(row.endedId ?? '');
      const found = resultsOf.get(row.completedId ?? '');
      return {
        pipeline,
        goldenSet,
        lastAttemptAt,
        runsByStatus,
        /** The latest run that is completed, void or failed. */
        ended:
          endedAt === null || came === undefined
            ? null
            : {
                ...came,
                durationSeconds: row.durationSeconds ?? 0,
                /**
                 * Number of forbidden documents that were returned; null if the set forbids none, or if the run did not
                 * test for them.
                 */
                forbidden: (row.forbiddenAsked ?? 0) === 0 ? null : came.forbidden,
                checks: checksOf.get(row.endedId ?? '') ?? [],
                /** A sentence that explains why the run failed; null unless its status is `failed`. */
                failedBecause: row.endedStatus === 'failed' ? failureSentence(row.endedId, row.endedReason) : null,
                finishedAt: endedAt,
              },
        completed:
          completedAt === null || found === undefined
            ? null
            : {
                ...found,
                startedAt: row.completedStartedAt ?? completedAt,
                finishedAt: completedAt,
                segmentsOverflow: row.segmentsOverflow ?? 0,
                labels: row.labels,
              },
      };
    });
  };
}

/** Reads uncached runs one by one, and removes each run from the cache once it is no longer among the latest. */
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

export type LatestSentinel = Awaited<ReturnType<typeof readLatestSentinels>>[number];

export async function readLatestSentinels(db: pg.Pool) {
  const rows = await queryRows<{
    readonly pipeline: string;
    readonly goldenSet: string;
    readonly lastAttemptAt: Date;
    readonly endedAt: Date | null;
    readonly hasFailed: boolean;
    readonly completedStartedAt: Date | null;
    readonly completedAt: Date | null;
  }>(
    db,
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
            ended.finished_at as ended_at, ended.reason is not null as has_failed,
            completed.started_at as completed_started_at, completed.finished_at as completed_at
       from sets
      cross join lateral (${latestOf("r.purpose = 'sentinel'")}) attempt
       left join lateral (${latestOf("r.purpose = 'sentinel' and r.status in ('completed', 'void')")}) ended on true
       left join lateral (${latestOf("r.purpose = 'sentinel' and r.status = 'completed'")}) completed on true
      order by sets.pipeline, sets.golden_set`,
  );
  return rows.map(({ endedAt, hasFailed, completedStartedAt, completedAt, ...row }) => ({
    ...row,
    /**
     * The latest sentinel run that is completed or void. The sentinel has failed if a reason for a failure is stored.
     */
    ended: endedAt && { finishedAt: endedAt, hasFailed },
    /** The latest completed sentinel. A sentinel completes only if the retriever responds. */
    completed: completedStartedAt && completedAt && { startedAt: completedStartedAt, finishedAt: completedAt },
  }));
}
