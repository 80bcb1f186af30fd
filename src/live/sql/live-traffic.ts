/** Live queries and feedback in PostgreSQL. Writes of requests that arrive together share a statement. */
import type { Pool, PoolClient } from 'pg';
import { RecalldError } from '../../errors.ts';
import { createPartitions, dayAfter, dropPartitionsBefore } from '../../postgres/partitions.ts';
import { unreachable } from '../../postgres/pool.ts';
import { inTransaction } from '../../postgres/transaction.ts';
import type { Arrival, LiveTraffic, StoredFeedback } from '../ports/live-traffic.ts';
import type { HeldFragment } from '../ports/trace-fragments.ts';
import { closeMinutes } from './close-minutes.ts';
import { areErased, eraseLate, forgetErased } from './erase-live.ts';
import { readCountedHours, readOpinions } from './feedback-reads.ts';
import { insertFeedback, renewFeedback } from './feedback-rows.ts';
import { createMicroBatch } from './micro-batch.ts';
import { raiseProbabilities, recordArrivals } from './record-arrivals.ts';
import { settleTraces, type TraceToSettle } from './settle-traces.ts';
import { insertFragments, releaseFragments } from './trace-fragments.ts';

/** Rows in one statement; more gain nothing. */
const BATCH_ROWS = 250;
const BATCH_WAIT_MS = 3;
const BATCHES_IN_FLIGHT = 3;
/** About 40 MB of queries with vectors. */
const MOST_WAITING = 10_000;

const DAY_MS = 86_400_000;
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
  const writeArrivals = (countsSamples: boolean) =>
    createMicroBatch<Arrival, readonly boolean[]>({
      write: (arrivals) => recordArrivals(pool, arrivals, replica, countsSamples),
      weigh: ({ samples }) => Math.max(1, samples.length),
      maxItems: BATCH_ROWS,
      maxWaitMs: BATCH_WAIT_MS,
      maxWaiting: MOST_WAITING,
      concurrency: BATCHES_IN_FLIGHT,
    });
  const writeCounted = writeArrivals(true);
  const writeUncounted = writeArrivals(false);
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
      const write = arrival.counts.length > 0 ? writeCounted : writeUncounted;
      const [isNew = []] = await explained(write([arrival]));
      await explained(settle(arrival.samples, 1));
      return { isNew };
    },
    raiseProbabilities: (samples) => explained(raiseProbabilities(pool, samples)),
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
    opinions: (...asked) => readOpinions(pool, ...asked),
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
    eraseLate: (pipelines, now) => eraseLate(pool, pipelines, new Date(now.getTime() - DAY_MS), now),
    areErased: (queries) => explained(areErased(pool, queries)),
  };
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
  // Of all days, in case nobody did so on one of them.
  await eraseLate(pool, [...retentionDays.keys()], null, now);
  await forgetErased(pool, longest, now);
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
    await pool.query(`delete from ${table} where minute < ($1::timestamp at time zone 'utc')`, [oldest]);
  }
}
