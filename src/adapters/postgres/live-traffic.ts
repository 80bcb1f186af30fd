/** Live queries and feedback in PostgreSQL. Writes of requests that arrive together share a statement. */
import type { Pool, PoolClient } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import type {
  ArrivalCount,
  ErasureReport,
  ErasureSubject,
  LiveSample,
  LiveTraffic,
  MinuteLevel,
  StoredFeedback,
} from '../../ports/live-traffic.ts';
import { closeMinutes } from './close-minutes.ts';
import { readCountedHours, readFeedback } from './feedback-reads.ts';
import { insertFeedback, insertSamples } from './live-rows.ts';
import { createMicroBatch } from './micro-batch.ts';
import { createPartitions, dayAfter, dropPartitionsBefore } from './partitions.ts';
import { unreachable } from './pool.ts';
import { inTransaction } from './transaction.ts';

/** Rows in one statement; more gain nothing. */
const BATCH_ROWS = 500;
const BATCH_WAIT_MS = 3;
const BATCHES_IN_FLIGHT = 3;
/** About 40 MB of queries with vectors. */
const MOST_WAITING = 10_000;

type Written = LiveSample | ArrivalCount | MinuteLevel;

/** @param replica names this process among those that share the database */
export function createLiveTraffic(pool: Pool, replica: string): LiveTraffic {
  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      if (cause instanceof RecalldError) throw cause;
      throw unreachable(pool.options, cause);
    }
  };
  const writeArrivals = createMicroBatch<Written, boolean>({
    write: (items) => inTransaction(pool, (client) => writeItems(client, items, replica)),
    maxItems: BATCH_ROWS,
    maxWaitMs: BATCH_WAIT_MS,
    maxWaiting: MOST_WAITING,
    concurrency: BATCHES_IN_FLIGHT,
  });
  const writeFeedback = createMicroBatch<StoredFeedback, boolean>({
    write: (items) => inTransaction(pool, (client) => insertFeedback(client, items)),
    maxItems: BATCH_ROWS,
    maxWaitMs: BATCH_WAIT_MS,
    maxWaiting: MOST_WAITING,
    concurrency: 1,
  });

  return {
    async record({ samples, counts, levels }) {
      const results = await explained(writeArrivals([...samples, ...counts, ...levels]));
      return { isNew: results.slice(0, samples.length) };
    },
    async recordFeedback(feedback) {
      return { isNew: await explained(writeFeedback(feedback)) };
    },
    countedHours: (days) => explained(readCountedHours(pool, days)),
    feedback: (pipeline, from, until) => readFeedback(pool, pipeline, from, until),
    dimensions: (pipeline, learn) => explained(knownDimensions(pool, pipeline, learn)),
    async replicas(since) {
      const { rows } = await pool.query<{ replicas: number }>(
        `select count(distinct replica)::integer as replicas from sampling_minutes where minute >= $1::timestamptz`,
        [since],
      );
      return Math.max(1, rows[0]?.replicas ?? 1);
    },
    closeMinutes: (before) => closeMinutes(pool, before),
    createPartitions: (now) => createPartitions(pool, now),
    prune: (retentionDays, now) => prune(pool, retentionDays, now),
    erase: (subject, now) => erase(pool, subject, now),
  };
}

async function writeItems(
  client: PoolClient,
  items: readonly Written[],
  replica: string,
): Promise<boolean[]> {
  const samples = items.filter((item): item is LiveSample => 'id' in item);
  const counts = items.filter((item): item is ArrivalCount => 'queries' in item);
  const levels = items.filter((item): item is MinuteLevel => !('id' in item) && !('queries' in item));
  const isNew = samples.length === 0 ? [] : await insertSamples(client, samples);
  await addCounts(client, counts);
  await raiseLevels(client, levels, replica);
  let next = 0;
  return items.map((item) => ('id' in item ? (isNew[next++] ?? false) : true));
}

/** Sorted and summed by key, so that two batches take their row locks in the same order and never wait in a ring. */
async function addCounts(client: PoolClient, counts: readonly ArrivalCount[]): Promise<void> {
  if (counts.length === 0) return;
  await client.query(
    `insert into live_query_counts (pipeline, minute, outcome, queries)
     select pipeline, minute, outcome, sum(queries)::bigint
       from unnest($1::text[], $2::timestamptz[], $3::text[], $4::bigint[]) as c (pipeline, minute, outcome, queries)
      group by pipeline, minute, outcome order by pipeline, minute, outcome
     on conflict (pipeline, minute, outcome) do update set queries = live_query_counts.queries + excluded.queries`,
    [
      counts.map((c) => c.pipeline),
      counts.map((c) => c.minute),
      counts.map((c) => c.outcome),
      counts.map((c) => c.queries),
    ],
  );
}

async function raiseLevels(
  client: PoolClient,
  levels: readonly MinuteLevel[],
  replica: string,
): Promise<void> {
  if (levels.length === 0) return;
  await client.query(
    `insert into sampling_minutes (pipeline, minute, replica, level)
     select pipeline, minute, $1::text, max(level)::smallint
       from unnest($2::text[], $3::timestamptz[], $4::integer[]) as l (pipeline, minute, level)
      group by pipeline, minute order by pipeline, minute
     on conflict (pipeline, minute, replica) do update set level = greatest(sampling_minutes.level, excluded.level)`,
    [replica, levels.map((l) => l.pipeline), levels.map((l) => l.minute), levels.map((l) => l.level)],
  );
}

async function knownDimensions(pool: Pool, pipeline: string, learn: number | null): Promise<number | null> {
  if (learn !== null) {
    await pool.query(
      `insert into pipeline_dimensions (pipeline, dimensions) values ($1::text, $2::integer) on conflict do nothing`,
      [pipeline, learn],
    );
  }
  const { rows } = await pool.query<{ dimensions: number }>(
    `select dimensions from pipeline_dimensions where pipeline = $1::text`,
    [pipeline],
  );
  return rows[0]?.dimensions ?? null;
}

/** Whole days go with their partition; pipelines with a shorter retention lose rows. */
async function prune(pool: Pool, retentionDays: ReadonlyMap<string, number>, now: Date): Promise<void> {
  const longest = Math.max(1, ...retentionDays.values());
  const oldest = dayAfter(now, -longest);
  await dropPartitionsBefore(pool, oldest);
  for (const [pipeline, days] of retentionDays) {
    if (days === longest) continue;
    for (const table of ['live_queries', 'feedback']) {
      await pool.query(`delete from ${table} where pipeline = $1::text and received_on < $2::date`, [
        pipeline,
        dayAfter(now, -days),
      ]);
    }
  }
  for (const table of ['live_query_counts', 'sampling_minutes']) {
    await pool.query(`delete from ${table} where minute < $1::date`, [oldest]);
  }
}

async function erase(pool: Pool, subject: ErasureSubject, now: Date): Promise<ErasureReport> {
  return inTransaction(pool, async (client) => {
    const [column, value] = subject.kind === 'user' ? ['user_hash', subject.userHash] : ['id', subject.id];
    const queries = await client.query<{ pipeline: string; id: string }>(
      `delete from live_queries where ${column} = $1::text returning pipeline, id`,
      [value],
    );
    // What others said about an erased query goes with it, and what an erased person said goes everywhere.
    const feedback = await client.query(
      `delete from feedback f
        where (f.pipeline, f.query_id) in (select * from unnest($1::text[], $2::text[]))
           or ${subject.kind === 'user' ? 'f.user_hash' : 'f.query_id'} = $3::text`,
      [queries.rows.map((row) => row.pipeline), queries.rows.map((row) => row.id), value],
    );
    const report = { queries: queries.rowCount ?? 0, feedback: feedback.rowCount ?? 0 };
    await client.query(
      `insert into erasures (erased_at, subject, subject_hash, queries, feedback) values ($1::timestamptz, $2::text, $3::text, $4::integer, $5::integer)`,
      [
        now,
        subject.kind,
        subject.kind === 'user' ? subject.userHash : subject.idHash,
        report.queries,
        report.feedback,
      ],
    );
    return report;
  });
}
