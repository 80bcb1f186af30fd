/** Live queries and feedback in PostgreSQL. Writes of requests that arrive together share a statement. */
import type { Pool, PoolClient } from 'pg';
import { RecalldError } from '../../../core/errors.ts';
import type {
  Arrival,
  ArrivalCount,
  LiveSample,
  LiveTraffic,
  MinuteLevel,
  StoredFeedback,
} from '../../../ports/live-traffic.ts';
import type { HeldFragment } from '../../../ports/trace-fragments.ts';
import { createPartitions, dayAfter, dropPartitionsBefore } from '../partitions.ts';
import { unreachable } from '../pool.ts';
import { inTransaction } from '../transaction.ts';
import { closeMinutes } from './close-minutes.ts';
import { erase, lastErasures } from './erase.ts';
import { readCountedHours, readFeedback } from './feedback-reads.ts';
import { columnsOf, insertFeedback, insertSamples, raiseProbabilities, renewFeedback } from './live-rows.ts';
import { createMicroBatch } from './micro-batch.ts';
import { settleTraces, type TraceToSettle } from './settle-traces.ts';
import { insertFragments, releaseFragments } from './trace-fragments.ts';

/** Rows in one statement; more gain nothing. */
const BATCH_ROWS = 500;
const BATCH_WAIT_MS = 3;
const BATCHES_IN_FLIGHT = 3;
const MINUTE_MS = 60_000;
/** About 40 MB of queries with vectors. */
const MOST_WAITING = 10_000;

/** Users may judge an answer long after it. */
const OPINION_DAYS = 30;

type OfTrace = Pick<StoredFeedback, 'traceId' | 'receivedAt'>;

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
  const recordArrivals = createMicroBatch<Arrival, readonly boolean[]>({
    write: (arrivals) => inTransaction(pool, (client) => writeArrivals(client, arrivals, replica)),
    weigh: ({ samples }) => Math.max(1, samples.length),
    maxItems: BATCH_ROWS,
    maxWaitMs: BATCH_WAIT_MS,
    maxWaiting: MOST_WAITING,
    concurrency: BATCHES_IN_FLIGHT,
  });
  const writeFeedback = createMicroBatch<StoredFeedback, boolean>({
    write: (items) => inTransaction(pool, (client) => writeFeedbackItems(client, items)),
    maxItems: BATCH_ROWS,
    maxWaitMs: BATCH_WAIT_MS,
    maxWaiting: MOST_WAITING,
    concurrency: 1,
  });
  const writeFragments = createMicroBatch<HeldFragment, true>({
    write: async (items) => {
      await insertFragments(pool, items);
      return items.map(() => true);
    },
    maxItems: BATCH_ROWS,
    maxWaitMs: BATCH_WAIT_MS,
    maxWaiting: MOST_WAITING,
    concurrency: 1,
  });
  const settleInBatches = createMicroBatch<TraceToSettle, true>({
    write: async (traces) => {
      await settleTraces(pool, traces);
      return traces.map(() => true);
    },
    maxItems: BATCH_ROWS,
    maxWaitMs: BATCH_WAIT_MS,
    maxWaiting: MOST_WAITING,
    concurrency: 1,
  });
  /** Only after what came of the traces is committed. */
  const settle = async (arrived: readonly OfTrace[], daysBack: number): Promise<void> => {
    const traces = new Map(
      arrived.flatMap(({ traceId: id, receivedAt }) =>
        id === null ? [] : [[id, { id, since: dayAfter(receivedAt, -daysBack) }]],
      ),
    );
    if (traces.size > 0) await settleInBatches([...traces.values()]);
  };

  return {
    async record(arrival) {
      const [isNew = []] = await explained(recordArrivals([arrival]));
      await explained(settle(arrival.samples, 1));
      return { isNew };
    },
    raiseProbabilities: (samples) =>
      explained(inTransaction(pool, (client) => raiseProbabilities(client, samples))),
    async recordFeedback(feedback) {
      const isNew = await explained(writeFeedback(feedback));
      await explained(settle(feedback, OPINION_DAYS));
      return { isNew };
    },
    async holdFragments(fragments) {
      if (fragments.length === 0) return;
      await explained(writeFragments(fragments));
      await explained(settle(fragments, 1));
    },
    releaseFragments: (now) => releaseFragments(pool, now),
    countedHours: (days) => explained(readCountedHours(pool, days)),
    feedback: (pipeline, from, until) => readFeedback(pool, pipeline, from, until),
    dimensions: (pipeline, learn) => explained(knownDimensions(pool, pipeline, learn)),
    fixDimensions: (pipeline, dimensions) => explained(fixDimensions(pool, pipeline, dimensions)),
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
    lastErasures: (hashes) => explained(lastErasures(pool, hashes)),
  };
}

async function writeArrivals(
  client: PoolClient,
  arrivals: readonly Arrival[],
  replica: string,
): Promise<boolean[][]> {
  const samples = arrivals.flatMap((arrival) => arrival.samples);
  const isNew = samples.length === 0 ? [] : await insertSamples(client, samples);
  const repeated = samples.filter((_, position) => isNew[position] !== true);
  let next = 0;
  const isNewOf = arrivals.map((arrival) => arrival.samples.map(() => isNew[next++] ?? false));
  const counts = arrivals.flatMap((arrival, index) => [
    ...arrival.counts,
    ...(arrival.counts.length === 0 ? [] : uncounted(arrival.samples, isNewOf[index] ?? [])),
  ]);
  await Promise.all([
    raiseProbabilities(client, repeated),
    addCounts(client, sumCounts(counts)),
    raiseLevels(client, highestLevels(arrivals.flatMap(({ levels }) => levels)), replica),
  ]);
  return isNewOf;
}

/** Takes back what an arrival counted for samples that were counted when they first came, in the same minute. */
function uncounted(samples: readonly LiveSample[], isNew: readonly boolean[]): ArrivalCount[] {
  return samples.flatMap(({ pipeline, outcome, receivedAt }, position) => {
    if (isNew[position] === true) return [];
    const minute = new Date(Math.floor(receivedAt.getTime() / MINUTE_MS) * MINUTE_MS);
    return [{ pipeline, outcome, minute, queries: -1 }];
  });
}

/** One count for each key: many requests share a few of them. */
function sumCounts(counts: readonly ArrivalCount[]): ArrivalCount[] {
  const sums = new Map<string, ArrivalCount>();
  for (const count of counts) {
    const key = `${count.minute.getTime()} ${count.outcome} ${count.pipeline}`;
    sums.set(key, { ...count, queries: count.queries + (sums.get(key)?.queries ?? 0) });
  }
  return [...sums.values()].filter(({ queries }) => queries !== 0);
}

function highestLevels(levels: readonly MinuteLevel[]): MinuteLevel[] {
  const highest = new Map<string, MinuteLevel>();
  for (const one of levels) {
    const key = `${one.minute.getTime()} ${one.pipeline}`;
    if (one.level >= (highest.get(key)?.level ?? 0)) highest.set(key, one);
  }
  return [...highest.values()];
}

async function writeFeedbackItems(
  client: PoolClient,
  feedback: readonly StoredFeedback[],
): Promise<boolean[]> {
  const isNew = await insertFeedback(client, feedback);
  await renewFeedback(
    client,
    feedback.filter((item, position) => item.mayRepeat && isNew[position] !== true),
  );
  return isNew;
}

/** Sorted by key, so that two batches take their row locks in the same order and never wait in a ring. */
async function addCounts(client: PoolClient, counts: readonly ArrivalCount[]): Promise<void> {
  if (counts.length === 0) return;
  await client.query({
    name: 'add-live-query-counts',
    text: `
      insert into live_query_counts (pipeline, minute, outcome, queries)
      select pipeline, minute, outcome, queries
        from unnest($1::text[], $2::timestamptz[], $3::text[], $4::bigint[]) as c (pipeline, minute, outcome, queries)
       order by pipeline, minute, outcome
      on conflict (pipeline, minute, outcome) do update set queries = live_query_counts.queries + excluded.queries`,
    values: columnsOf(counts, [(c) => c.pipeline, (c) => c.minute, (c) => c.outcome, (c) => c.queries]),
  });
}

async function raiseLevels(
  client: PoolClient,
  levels: readonly MinuteLevel[],
  replica: string,
): Promise<void> {
  if (levels.length === 0) return;
  await client.query({
    name: 'raise-sampling-levels',
    text: `
      insert into sampling_minutes (pipeline, minute, replica, level)
      select pipeline, minute, $1::text, level
        from unnest($2::text[], $3::timestamptz[], $4::smallint[]) as l (pipeline, minute, level)
       order by pipeline, minute
      on conflict (pipeline, minute, replica) do update set level = excluded.level
       where sampling_minutes.level < excluded.level`,
    values: [replica, ...columnsOf(levels, [(l) => l.pipeline, (l) => l.minute, (l) => l.level])],
  });
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

async function fixDimensions(pool: Pool, pipeline: string, dimensions: number): Promise<void> {
  await pool.query(
    `insert into pipeline_dimensions (pipeline, dimensions) values ($1::text, $2::integer)
     on conflict (pipeline) do update set dimensions = excluded.dimensions`,
    [pipeline, dimensions],
  );
}

/** Whole days go with their partition; pipelines with a shorter retention lose rows. */
async function prune(pool: Pool, retentionDays: ReadonlyMap<string, number>, now: Date): Promise<void> {
  const longest = Math.max(1, ...retentionDays.values());
  const oldest = dayAfter(now, -longest);
  await dropPartitionsBefore(pool, oldest);
  for (const [pipeline, days] of retentionDays) {
    if (days === longest) continue;
    for (const table of ['live_queries', 'feedback', 'query_coverage']) {
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
