/** Live queries and feedback in PostgreSQL. Writes of requests that arrive together share a statement. */
import type { Pool, PoolClient } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import { DAY_MS, type TimeSpan } from '../../core/time.ts';
import { unreachable } from '../../platform/postgres/outage.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { createPartitions, dayAfter } from '../../platform/postgres/upkeep.ts';
import type { OpinionBucket } from '../rules/feedback/feedback-drop.ts';
import type { OpinionTally } from '../rules/feedback/sentiment.ts';
import type { CapDay, CountedHour } from '../rules/feedback/user-cap.ts';
import type { UnreadableRetriever } from '../rules/otel/unreadable-retriever.ts';
import { areErased, type ErasableQuery, type ErasureReport, eraseLate } from './erase-live.ts';
import {
  insertFeedback,
  readCountedHours,
  readOpinionBuckets,
  readOpinions,
  renewFeedback,
  type StoredFeedback,
} from './feedback-rows.ts';
import { pruneLive } from './prune-live.ts';
import { type Arrival, closeMinutes, type LiveSample, raiseProbabilities, recordArrivals } from './record-arrivals.ts';
import {
  type BufferedFragment,
  completeTraces,
  dropOldFragments,
  insertFragments,
  type TraceToComplete,
} from './trace-fragments.ts';
import { readUnreadable, recordUnreadable, type SeenUnreadable } from './unreadable-retrievers.ts';

/** Rows in one statement; more gain nothing. */
const BATCH_ROWS = 250;
const BATCH_WAIT_MS = 3;
const BATCHES_IN_FLIGHT = 3;
/** About 40 MB of queries with vectors. */
const MAX_WAITING = 10_000;

/** Users may judge an answer long after it. */
const OPINION_DAYS = 30;

type OfTrace = Pick<StoredFeedback, 'traceId' | 'receivedAt'>;

/** Live queries and feedback, written once each, kept for their retention. */
export type LiveTraffic = ReturnType<typeof createLiveTraffic>;

/** @param replica names this process among those that share the database */
export function createLiveTraffic(pool: Pool, replica: string) {
  const explain = (cause: unknown): never => {
    throw cause instanceof RecalldError ? cause : unreachable(pool.options, cause);
  };
  const explained = <T>(work: Promise<T>): Promise<T> => work.catch(explain);
  const writeArrivals = (countsSamples: boolean) =>
    createMicroBatch<Arrival, readonly boolean[]>({
      write: (arrivals) => recordArrivals(pool, arrivals, replica, countsSamples),
      weigh: ({ samples }) => Math.max(1, samples.length),
      maxItems: BATCH_ROWS,
      maxWaitMs: BATCH_WAIT_MS,
      maxWaiting: MAX_WAITING,
      concurrency: BATCHES_IN_FLIGHT,
    });
  const writeCounted = writeArrivals(true);
  const writeUncounted = writeArrivals(false);
  const writeFeedback = createMicroBatch<StoredFeedback, boolean>({
    write: (items) => inTransaction(pool, (client) => writeFeedbackItems(client, items)),
    maxItems: BATCH_ROWS,
    maxWaitMs: BATCH_WAIT_MS,
    maxWaiting: MAX_WAITING,
    concurrency: 1,
  });
  const writeFragments = oneAtATime((items: readonly BufferedFragment[]) => insertFragments(pool, items));
  const completeInBatches = oneAtATime((traces: readonly TraceToComplete[]) => completeTraces(pool, traces));
  /** Only after what came of the traces is committed. */
  const settle = async (arrived: readonly OfTrace[], daysBack: number): Promise<void> => {
    const traces = new Map(
      arrived.flatMap(({ traceId: id, receivedAt }) =>
        id === null ? [] : [[id, { id, since: dayAfter(receivedAt, -daysBack) }]],
      ),
    );
    if (traces.size > 0) await completeInBatches([...traces.values()]);
  };

  return {
    /**
     * Stores an arrival and completes its samples with what is held of their traces. Resolves when that is committed,
     * with whether each sample is new; one that was stored before, today or yesterday (UTC), is left as it is, save that
     * of two inclusion probabilities of today the larger holds. Rejects with RecalldError database_unreachable when
     * something was not stored; all of it may then be sent again.
     */
    async record(arrival: Arrival): Promise<{ readonly isNew: readonly boolean[] }> {
      const write = arrival.counts.length > 0 ? writeCounted : writeUncounted;
      try {
        const [isNew = []] = await write([arrival]);
        if (arrival.samples.length > 0) await settle(arrival.samples, 1);
        return { isNew };
      } catch (cause) {
        return explain(cause);
      }
    },
    /** Gives samples of today a larger inclusion probability; one that is not there, or erased, stays away. */
    raiseProbabilities: (samples: readonly LiveSample[]): Promise<void> => explained(raiseProbabilities(pool, samples)),
    /**
     * Stores feedback in the same way. A repeat may be a user who changed back to an earlier opinion; it is then the
     * latest.
     */
    async recordFeedback(feedback: readonly StoredFeedback[]): Promise<{ readonly isNew: readonly boolean[] }> {
      const isNew = await explained(writeFeedback(feedback));
      await explained(settle(feedback, OPINION_DAYS));
      return { isNew };
    },
    /**
     * Completes the stored live queries of the fragments' traces, and holds the fragments for those that come later.
     * Resolves when that is committed; holding them again changes nothing. Rejects likewise.
     */
    async bufferFragments(fragments: readonly BufferedFragment[]): Promise<void> {
      if (fragments.length === 0) return;
      await explained(writeFragments(fragments));
      await explained(settle(fragments, 1));
    },
    /** Lets go of the fragments that have been held for 10 to 20 minutes. */
    dropOldFragments: (now: Date): Promise<void> => dropOldFragments(pool, now),
    /** Remembers retriever spans that gave no query, by kind. */
    recordUnreadable: (kinds: readonly UnreadableRetriever[], now: Date): Promise<void> =>
      recordUnreadable(pool, kinds, now),
    /** Those that came since then, the latest first. */
    unreadableSince: (since: Date): Promise<readonly SeenUnreadable[]> => readUnreadable(pool, since),
    /** What people have counted on some days, for the cap on each. */
    countedHours: (days: readonly CapDay[]): Promise<readonly CountedHour[]> => explained(readCountedHours(pool, days)),
    /**
     * What was said of a pipeline by feedback that occurred within the window, by the segments of these keys. An opinion
     * that changed after the window is what it was then, and late feedback corrects a window that is read again.
     */
    opinions: (pipeline: string, window: TimeSpan, segmentKeys: readonly string[]): Promise<readonly OpinionTally[]> =>
      readOpinions(pool, pipeline, window, segmentKeys),
    /** The counted opinions of such a window over time, for buckets with any. */
    opinionBuckets: (pipeline: string, window: TimeSpan, bucketMs: number): Promise<readonly OpinionBucket[]> =>
      readOpinionBuckets(pool, pipeline, window, bucketMs),
    /** The length of the vectors of a pipeline, null while none is known. Learns `dimensions` when it is given. */
    dimensions: (pipeline: string, learn: number | null): Promise<number | null> =>
      explained(knownDimensions(pool, pipeline, learn)),
    /** Makes the length of the vectors of a pipeline what its config says. */
    fixDimensions: (pipeline: string, dimensions: number): Promise<void> =>
      explained(fixDimensions(pool, pipeline, dimensions)),
    /** How many processes took in live queries since then; at least 1. */
    async replicas(since: Date): Promise<number> {
      const { rows } = await pool.query<{ replicas: number }>(
        `select count(distinct replica)::integer as replicas from sampling_minutes where minute >= $1::timestamptz`,
        [since],
      );
      return Math.max(1, rows[0]?.replicas ?? 1);
    },
    /** Makes the samples of past minutes what the closing level of their minute says. @returns how many were dropped */
    closeMinutes: (before: Date): Promise<number> => closeMinutes(pool, before),
    /** Makes the partitions that the next days need. */
    createPartitions: (now: Date): Promise<void> => createPartitions(pool, now),
    /**
     * Drops what is older than the retention of its pipeline, and forgets whom erasures were about when the longest
     * retention is over: what had happened before them is refused by then.
     */
    prune: (retentionDays: ReadonlyMap<string, number>, now: Date): Promise<void> =>
      pruneLive(pool, retentionDays, now),
    /** Erases what came today and yesterday (UTC) of what had been erased before it came. */
    eraseLate: (pipelines: readonly string[], now: Date): Promise<Pick<ErasureReport, 'queries' | 'feedback'>> =>
      eraseLate(pool, pipelines, new Date(now.getTime() - DAY_MS), now),
    /** Which of these queries were erased, as themselves or with who asked, after they were asked. */
    areErased: (queries: readonly ErasableQuery[]): Promise<readonly boolean[]> => explained(areErased(pool, queries)),
  };
}

/** Collects items for a statement that gives nothing back; the next one begins when it is over. */
function oneAtATime<Item>(write: (items: readonly Item[]) => Promise<void>) {
  return createMicroBatch<Item, true>({
    write: async (items) => {
      await write(items);
      return items.map(() => true);
    },
    maxItems: BATCH_ROWS,
    maxWaitMs: BATCH_WAIT_MS,
    maxWaiting: MAX_WAITING,
    concurrency: 1,
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

/** Joins the writes of requests that arrive together into one statement, and tells each when its part is committed. */
interface MicroBatchSettings<Item, Result> {
  /** Writes a batch; what it resolves with is handed out item by item, in order. */
  readonly write: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** What an item counts for; 1 unless told otherwise. */
  readonly weigh?: (item: Item) => number;
  /** Weight of a batch. */
  readonly maxItems: number;
  /** How long the first item waits for company while nothing is being written. */
  readonly maxWaitMs: number;
  /** Beyond so much waiting weight a call is refused at once. */
  readonly maxWaiting: number;
  /** Batches in flight at a time; others than the first are full ones. */
  readonly concurrency: number;
}

interface Waiting<Item, Result> {
  readonly items: readonly Item[];
  readonly weight: number;
  readonly resolve: (results: readonly Result[]) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * A function that writes items in batches with those of other callers. A call is never split over two batches; one
 * that is larger than `maxItems` is a batch of its own. When a batch fails, every call in it fails.
 */
export function createMicroBatch<Item, Result>(
  settings: MicroBatchSettings<Item, Result>,
): (items: readonly Item[]) => Promise<readonly Result[]> {
  const { weigh } = settings;
  const weightOf = (items: readonly Item[]): number =>
    weigh === undefined ? items.length : items.reduce((sum, item) => sum + weigh(item), 0);
  let waiting: Waiting<Item, Result>[] = [];
  let waitingWeight = 0;
  let inFlight = 0;
  let timer: NodeJS.Timeout | null = null;

  /** Small calls wait for the batch before theirs, so that the busier the caller, the more share a statement. */
  const isDue = (): boolean =>
    inFlight === 0 || (inFlight < settings.concurrency && waitingWeight >= settings.maxItems);

  const flush = async (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.length === 0 || !isDue()) return;
    const calls = takeCalls();
    inFlight++;
    try {
      const results = await settings.write(calls.flatMap((call) => call.items));
      let from = 0;
      for (const call of calls) {
        call.resolve(results.slice(from, from + call.items.length));
        from += call.items.length;
      }
    } catch (error) {
      for (const call of calls) call.reject(error);
    } finally {
      inFlight--;
      // What came while we wrote has waited long enough.
      void flush();
    }
  };

  const takeCalls = (): Waiting<Item, Result>[] => {
    let count = 0;
    let weight = 0;
    for (const call of waiting) {
      if (count > 0 && weight + call.weight > settings.maxItems) break;
      weight += call.weight;
      count++;
    }
    waitingWeight -= weight;
    return waiting.splice(0, count);
  };

  return (items) =>
    new Promise((resolve, reject) => {
      if (waitingWeight > settings.maxWaiting) {
        reject(new RecalldError('overloaded', `${waitingWeight} items wait to be stored; send again later.`));
        return;
      }
      const weight = weightOf(items);
      waiting.push({ items, weight, resolve, reject });
      waitingWeight += weight;
      if (waitingWeight >= settings.maxItems) void flush();
      else timer ??= setTimeout(() => void flush(), settings.maxWaitMs);
    });
}
