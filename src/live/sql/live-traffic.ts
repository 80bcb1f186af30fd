/** Stores live queries and feedback. Concurrent requests share statements. */
import type { Pool, PoolClient } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import { DAY_MS } from '../../core/time.ts';
import { unreachable } from '../../platform/postgres/outage.ts';
import { createPartitions, dayAfter } from '../../platform/postgres/partitions.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { areErased, eraseLate } from './erase-live.ts';
import {
  insertFeedback,
  readCountedHours,
  readOpinionBuckets,
  readOpinions,
  renewFeedback,
  type StoredFeedback,
} from './feedback-rows.ts';
import { pruneLive } from './prune-live.ts';
import {
  type Arrival,
  closeMinutes,
  type RecordedArrival,
  raiseProbabilities,
  recordArrivals,
} from './record-arrivals.ts';
import {
  type BufferedFragment,
  completeTraces,
  dropOldFragments,
  insertFragments,
  type TraceToComplete,
} from './trace-fragments.ts';
import { readUnreadable, recordUnreadable } from './unreadable-retrievers.ts';

/** Maximum weight of a batch, in rows per statement; larger batches would not be faster. */
const MAX_WEIGHT = 250;
/** How long the first item waits for further items while no batch is being written. */
const MAX_WAIT_MS = 3;
/** Maximum weight of the waiting items, above which further calls are rejected: about 40 MB of queries with vectors. */
const MAX_WAITING = 10_000;

/** Number of days to search for feedback: users may give feedback long after the answer. */
const OPINION_DAYS = 30;

export type LiveTraffic = ReturnType<typeof createLiveTraffic>;

/** @param replica name of this process, unique among the processes that share the database */
export function createLiveTraffic(pool: Pool, replica: string) {
  const explain = (cause: unknown): never => {
    throw cause instanceof RecalldError ? cause : unreachable(pool.options, cause);
  };
  const explained = <T>(work: Promise<T>): Promise<T> => work.catch(explain);
  type Query<Args extends unknown[], T> = (db: Pool, ...args: Args) => Promise<T>;
  const onPool =
    <Args extends unknown[], T>(query: Query<Args, T>) =>
    (...args: Args): Promise<T> =>
      query(pool, ...args);
  const explainedOnPool =
    <Args extends unknown[], T>(query: Query<Args, T>) =>
    (...args: Args): Promise<T> =>
      explained(query(pool, ...args));
  const writeArrivals = (countsSamples: boolean) =>
    createMicroBatch<Arrival, RecordedArrival>({
      write: (arrivals) => recordArrivals(pool, arrivals, replica, countsSamples),
      weigh: ({ samples, isolation }) => Math.max(1, samples.length + (isolation?.violations.length ?? 0)),
      concurrency: 3,
    });
  const writeCounted = writeArrivals(true);
  const writeUncounted = writeArrivals(false);
  const writeFeedback = createMicroBatch<StoredFeedback, boolean>({
    write: (items) => inTransaction(pool, (client) => writeFeedbackItems(client, items)),
  });
  const writeFragments = oneAtATime((items: readonly BufferedFragment[]) => insertFragments(pool, items));
  const completeInBatches = oneAtATime((traces: readonly TraceToComplete[]) => completeTraces(pool, traces));
  /** Completes the stored queries of these traces. Must run after the data of the traces has been committed. */
  const completeTracesOf = async (
    arrived: readonly { readonly traceId: string | null; readonly receivedAt: Date }[],
    daysBack: number,
  ): Promise<void> => {
    const traces = new Map(
      arrived.flatMap(({ traceId: id, receivedAt }) =>
        id === null ? [] : [[id, { id, since: dayAfter(receivedAt, -daysBack) }]],
      ),
    );
    if (traces.size > 0) await completeInBatches([...traces.values()]);
  };

  return {
    /**
     * Stores an arrival, and completes its samples with the buffered fragments of their traces. A sample that was
     * already stored today or yesterday (UTC) is not changed, with one exception: if it was stored today, the larger
     * inclusion probability applies.
     *
     * @returns which samples and violations are new, after the commit
     * @throws RecalldError database_unreachable; the client may send everything again
     */
    async record(arrival: Arrival): Promise<RecordedArrival> {
      const write = arrival.counts.length > 0 ? writeCounted : writeUncounted;
      try {
        const [recorded = { isNew: [], isNewViolation: [] }] = await write([arrival]);
        if (arrival.samples.length > 0) await completeTracesOf(arrival.samples, 1);
        return recorded;
      } catch (cause) {
        return explain(cause);
      }
    },
    raiseProbabilities: explainedOnPool(raiseProbabilities),
    /**
     * Stores feedback in the same way as `record` stores samples. A repeated item may mean that a user returned to an
     * earlier opinion, which then becomes the latest opinion.
     */
    async recordFeedback(feedback: readonly StoredFeedback[]): Promise<{ readonly isNew: readonly boolean[] }> {
      const isNew = await explained(writeFeedback(feedback));
      await explained(completeTracesOf(feedback, OPINION_DAYS));
      return { isNew };
    },
    /**
     * Stores trace fragments for live queries that arrive later, and completes stored queries of the same traces.
     * Idempotent; resolves after the commit.
     *
     * @throws as record
     */
    async bufferFragments(fragments: readonly BufferedFragment[]): Promise<void> {
      if (fragments.length === 0) return;
      await explained(writeFragments(fragments));
      await explained(completeTracesOf(fragments, 1));
    },
    dropOldFragments: onPool(dropOldFragments),
    recordUnreadable: onPool(recordUnreadable),
    unreadableSince: onPool(readUnreadable),
    countedHours: explainedOnPool(readCountedHours),
    opinions: onPool(readOpinions),
    opinionBuckets: onPool(readOpinionBuckets),
    dimensions: explainedOnPool(knownDimensions),
    fixDimensions: explainedOnPool(fixDimensions),
    /** Returns the number of processes that have ingested live queries since the given time; at least 1. */
    async replicas(since: Date): Promise<number> {
      const { rows } = await pool.query<{ replicas: number }>(
        `select count(distinct replica)::integer as replicas from sampling_minutes where minute >= $1::timestamptz`,
        [since],
      );
      return Math.max(1, rows[0]?.replicas ?? 1);
    },
    closeMinutes: onPool(closeMinutes),
    createPartitions: onPool(createPartitions),
    prune: onPool(pruneLive),
    /** Erases data that arrived today or yesterday (UTC) but belongs to a subject whose data was erased earlier. */
    eraseLate: (pipelines: readonly string[], now: Date) =>
      eraseLate(pool, pipelines, new Date(now.getTime() - DAY_MS), now),
    areErased: explainedOnPool(areErased),
  };
}

/** Batches items for a statement that returns no rows. Runs one statement at a time. */
function oneAtATime<Item>(write: (items: readonly Item[]) => Promise<void>) {
  return createMicroBatch<Item, true>({
    write: async (items) => {
      await write(items);
      return items.map(() => true);
    },
  });
}

async function writeFeedbackItems(client: PoolClient, feedback: readonly StoredFeedback[]): Promise<boolean[]> {
  const isNew = await insertFeedback(client, feedback);
  await renewFeedback(
    client,
    feedback.filter((item, position) => item.mayRepeat && isNew[position] !== true),
  );
  return isNew;
}

/** Returns the vector dimensions of a pipeline; null if unknown. Stores `learn` if no dimensions are stored yet. */
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

/** Stores the vector dimensions that a pipeline's config sets. */
async function fixDimensions(pool: Pool, pipeline: string, dimensions: number): Promise<void> {
  await pool.query(
    `insert into pipeline_dimensions (pipeline, dimensions) values ($1::text, $2::integer)
     on conflict (pipeline) do update set dimensions = excluded.dimensions`,
    [pipeline, dimensions],
  );
}

interface MicroBatch<Item, Result> {
  /** Writes a batch and resolves with one result per item, in order. */
  readonly write: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Weight of an item; default: 1. */
  readonly weigh?: (item: Item) => number;
  /** Maximum number of concurrent batches; default: 1. While one batch is being written, only full batches start. */
  readonly concurrency?: number;
}

interface Waiting<Item, Result> {
  readonly items: readonly Item[];
  readonly weight: number;
  readonly resolve: (results: readonly Result[]) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Creates a function that writes items in batches together with items of concurrent callers. A call is never split
 * across batches; a call heavier than `MAX_WEIGHT` gets its own batch. If a batch fails, all its calls fail.
 */
export function createMicroBatch<Item, Result>({ write, weigh = () => 1, concurrency = 1 }: MicroBatch<Item, Result>) {
  let waiting: Waiting<Item, Result>[] = [];
  let waitingWeight = 0;
  let inFlight = 0;
  let timer: NodeJS.Timeout | null = null;

  /** True if a batch can start. Under load, small calls wait, so that more calls share a statement. */
  const isDue = (): boolean => inFlight === 0 || (inFlight < concurrency && waitingWeight >= MAX_WEIGHT);

  const flush = async (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.length === 0 || !isDue()) return;
    const calls = takeCalls();
    inFlight++;
    try {
      const results = await write(calls.flatMap((call) => call.items));
      let from = 0;
      for (const call of calls) {
        call.resolve(results.slice(from, from + call.items.length));
        from += call.items.length;
      }
    } catch (error) {
      for (const call of calls) call.reject(error);
    } finally {
      inFlight--;
      // Calls that arrived while a batch was being written do not wait any longer for further items.
      void flush();
    }
  };

  const takeCalls = (): Waiting<Item, Result>[] => {
    let count = 0;
    let weight = 0;
    for (const call of waiting) {
      if (count > 0 && weight + call.weight > MAX_WEIGHT) break;
      weight += call.weight;
      count++;
    }
    waitingWeight -= weight;
    return waiting.splice(0, count);
  };

  return (items: readonly Item[]) =>
    new Promise<readonly Result[]>((resolve, reject) => {
      if (waitingWeight > MAX_WAITING) {
        const message = `${waitingWeight} items are waiting to be stored; send this request again later.`;
        return reject(new RecalldError('overloaded', message));
      }
      const weight = items.reduce((sum, item) => sum + weigh(item), 0);
      waiting.push({ items, weight, resolve, reject });
      waitingWeight += weight;
      if (waitingWeight >= MAX_WEIGHT) void flush();
      else timer ??= setTimeout(() => void flush(), MAX_WAIT_MS);
    });
}
