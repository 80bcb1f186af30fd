/**
 * Fills a database with as many rows as long use produces. SQL generates the rows, because sending all rows would take
 * minutes.
 */
import type { ClientBase, Pool } from 'pg';

export interface LargeHistory {
  readonly pipeline: string;
  /** Number of queries in the set `large`; its only run was cancelled after half of them. */
  readonly goldenQueries: number;
  /** Number of completed runs of 50 other sets, one run per hour for each set. */
  readonly oldRuns: number;
  /** Number of live queries in the last hour, all stored; every tenth has a thumbs-up. */
  readonly liveQueries: number;
}

/** Requires that today's partitions exist. Live queries are spaced evenly over the last hour; none is in the future. */
export async function writeLargeHistory(
  db: ClientBase | Pool,
  { pipeline, goldenQueries, oldRuns, liveQueries }: LargeHistory,
): Promise<void> {
  const run = async (sql: string, ...values: readonly unknown[]): Promise<void> => {
    await db.query({ text: sql, values: [...values] });
  };
  await run(
    `insert into golden_sets (name, version, content_hash, format, imported_at, queries, judgments)
     values ('large', 1, 'large', 'csv', now(), $1::integer, $1::integer)`,
    goldenQueries,
  );
  await run(
    `insert into golden_queries (golden_set, version, query_id, position, text, tags)
     select 'large', 1, 'q' || i, i, 'How do I do number ' || i || '?', '{}' from generate_series(1, $1::integer) i`,
    goldenQueries,
  );
  await run(
    `insert into golden_judgments (golden_set, version, query_id, document_id, grade)
     select 'large', 1, 'q' || i, 'kb-' || i, 1 from generate_series(1, $1::integer) i`,
    goldenQueries,
  );
  await run(
    `insert into golden_runs (id, pipeline, golden_set, golden_set_version, trigger, settings, status, reason, started_at, deadline_at, finished_at)
     values ('cancelled', $1::text, 'large', 1, 'manual', '{"cutoffs": [10]}', 'cancelled', 'The run was cancelled manually.', now(), now(), now())`,
    pipeline,
  );
  await run(
    `insert into golden_run_answers (run_id, query_id, outcome, document_ids, scores, latency_ms, attempts)
     select 'cancelled', 'q' || i, 'ok', array_fill('kb-' || i, array[10]), array_fill(0.9::double precision, array[10]), 12, 1
       from generate_series(1, $1::integer / 2) i`,
    goldenQueries,
  );
  await run(
    `insert into golden_sets (name, version, content_hash, format, imported_at, queries, judgments)
     select 'old-' || i, 1, '', 'csv', now(), 0, 0 from generate_series(0, 49) i`,
  );
  await run(
    `insert into golden_runs (id, pipeline, golden_set, golden_set_version, trigger, settings, status, started_at, deadline_at, finished_at)
     select 'old-' || i, $1::text, 'old-' || i % 50, 1, 'schedule', '{"cutoffs": [10]}', 'completed', at, at, at
       from (select i, now() - i / 50 * interval '1 hour' as at from generate_series(1, $2::integer) i) r`,
    pipeline,
    oldRuns,
  );
  await run(
    `insert into live_queries (received_on, pipeline, id, received_at, occurred_at, session_hash, text, outcome, results, latency_ms,
                               segments, probability, keep_reason, unit_hash, rate_probability, level)
     select (at at time zone 'utc')::date, $1::text, 'live-' || i, at, at, md5((i / 5)::text), 'What about number ' || i || '?', 'ok',
            '[["kb-1", 0.9], ["kb-2", 0.8], ["kb-3", 0.7], ["kb-4", 0.6], ["kb-5", 0.5]]', 12, '{"tenant": "acme"}', 1, 'rate', 0.5, 1, 0
       from (select i, now() - i * interval '1 hour' / $2::integer as at from generate_series(1, $2::integer) i) q`,
    pipeline,
    liveQueries,
  );
  await run(
    `insert into feedback (received_on, pipeline, id, received_at, occurred_at, query_id, kind, sentiment, counted, user_hash)
     select received_on, pipeline, id, received_at, occurred_at, id, 'thumb', 'positive', true, session_hash
       from live_queries where pipeline = $1::text and id like 'live-%0'`,
    pipeline,
  );
}
