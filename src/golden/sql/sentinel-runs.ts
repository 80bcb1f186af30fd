/** Reads of golden runs for sentinels: where they stand, and how quick the retriever was. */
import type pg from 'pg';
import type { LatestSentinel } from '../ports/golden-runs.ts';

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
    `with sets as (
       select pipeline, golden_set, max(started_at) as last_attempt_at
         from golden_runs where purpose = 'sentinel' group by pipeline, golden_set
     )
     select sets.pipeline, sets.golden_set, sets.last_attempt_at,
            ended.finished_at as ended_at, ended.reason is not null as has_fallen,
            completed.started_at as completed_started_at, completed.finished_at as completed_at
       from sets
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

export async function readLatency95(db: pg.Pool, runId: string): Promise<number | null> {
  const { rows } = await db.query<{ p95: number | null }>(
    `select percentile_disc(0.95) within group (order by latency_ms) as p95
       from golden_run_answers where run_id = $1::text and outcome in ('ok', 'empty') and latency_ms is not null`,
    [runId],
  );
  return rows[0]?.p95 ?? null;
}

export async function pruneSentinels(db: pg.Pool, before: Date): Promise<void> {
  await db.query(
    `delete from golden_runs where purpose = 'sentinel' and status <> 'running' and started_at < $1::timestamptz`,
    [before],
  );
}
