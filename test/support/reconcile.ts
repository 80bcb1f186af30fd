/** Compares the accepted data with the data in PostgreSQL, id by id. */
import type { ClientBase } from 'pg';
import type { LiveLoad } from './live-load.ts';

export interface Reconciled {
  readonly accepted: number;
  readonly stored: number;
  /** Number of items that were accepted but are missing. */
  readonly lost: number;
  /** Number of items that are stored more than once. */
  readonly duplicated: number;
}

/** Compares the rows in `table` with the ids for which the daemon returned 202. */
async function reconcile(
  client: ClientBase,
  table: 'live_queries' | 'feedback',
  accepted: ReadonlySet<string>,
): Promise<Reconciled> {
  const { rows } = await client.query<{ id: string; times: number }>(
    `select id, count(*)::integer as times from ${table} group by id`,
  );
  const stored = new Map(rows.map(({ id, times }) => [id, times]));
  return {
    accepted: accepted.size,
    stored: rows.reduce((sum, { times }) => sum + times, 0),
    lost: [...accepted].filter((id) => !stored.has(id)).length,
    duplicated: rows.filter(({ times }) => times > 1).length,
  };
}

export async function reconcileLoad(
  client: ClientBase,
  load: Pick<LiveLoad, 'queries' | 'feedback'>,
): Promise<{ readonly queries: Reconciled; readonly feedback: Reconciled; readonly counted: number }> {
  const { rows } = await client.query<{ counted: number }>(
    'select coalesce(sum(queries), 0)::integer as counted from live_query_counts',
  );
  return {
    queries: await reconcile(client, 'live_queries', load.queries),
    feedback: await reconcile(client, 'feedback', load.feedback),
    counted: rows[0]?.counted ?? 0,
  };
}

export interface GoldenLedger {
  readonly runs: number;
  readonly running: number;
  readonly completed: number;
  /** Number of runs that ended without scores. */
  readonly withoutScores: number;
  /** Number of scheduled ticks that had more than one run. */
  readonly ticksTwice: number;
  /** Number of completed runs that do not have one result for each of their queries. */
  readonly incomplete: number;
  readonly answers: number;
}

/** @param startedBefore excludes the runs that started at this time or later */
export async function readGoldenLedger(client: ClientBase, startedBefore: Date = new Date()): Promise<GoldenLedger> {
  const { rows } = await client.query<GoldenLedger>(
    `with run as (
       select r.id, r.status, r.scheduled_for, coalesce(cardinality(r.query_ids), s.queries) as wanted,
              (select count(*) from golden_run_answers a where a.run_id = r.id) as answered
         from golden_runs r
         join golden_sets s on s.name = r.golden_set and s.version = r.golden_set_version
        where r.started_at < $1::timestamptz)
     select count(*)::integer as runs,
            count(*) filter (where status = 'running')::integer as running,
            count(*) filter (where status = 'completed')::integer as completed,
            count(*) filter (where status not in ('running', 'completed'))::integer as "withoutScores",
            (count(scheduled_for) - count(distinct scheduled_for))::integer as "ticksTwice",
            count(*) filter (where status = 'completed' and wanted <> answered)::integer as incomplete,
            coalesce(sum(answered), 0)::integer as answers
       from run`,
    [startedBefore],
  );
  const [ledger] = rows;
  if (ledger === undefined) throw new Error('a count is always there');
  return ledger;
}
