/**
 * Limits the concurrency and rate of calls to a retriever across all processes, and slows the calls down when the
 * retriever slows down.
 */

import type { Context } from '../../core/context.ts';
import { messageOf } from '../../core/errors.ts';
import { orAborted } from '../../platform/threads/wait.ts';
import { observeLatency, startBackoff } from './backoff.ts';
import { createSharedRate } from './shared-rate.ts';

const LEASE_SECONDS = 10;
const HEARTBEAT_MS = 1000;

export type Throttle = Awaited<ReturnType<typeof openThrottle>>;

/** @throws the error from `limits` if this process's share cannot be determined */
export async function openThrottle(
  context: Context,
  settings: {
    readonly pipeline: string;
    /** Maximum number of calls in flight across all processes. */
    readonly concurrency: number;
    readonly maxPerSecond: number;
    /** Identifies this process. */
    readonly holder: string;
    /** Usual 95th percentile latency in milliseconds; if null, the first responses determine it. */
    readonly usualLatencyMs: number | null;
  },
) {
  const { db, clock, logger } = context;
  const { pipeline, holder, concurrency } = settings;
  let backoff = startBackoff(settings.usualLatencyMs);
  let inFlight = 0;
  let failures = 0;
  const claim = (using: number) =>
    db.limits.share(pipeline, holder, { concurrency, using, failuresInARow: failures }, LEASE_SECONDS);
  let share = await claim(0);
  let waiting: (() => void)[] = [];
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resume of woken) resume();
  };
  const mostInFlight = (): number => Math.min(share.slots, Math.max(1, Math.floor(concurrency * backoff.factor)));
  const turn = createSharedRate(context, pipeline, () => settings.maxPerSecond * backoff.factor);

  const stop = new AbortController();
  const beat = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, stop.signal);
      try {
        share = await claim(Math.max(share.slots, inFlight));
      } catch (error) {
        logger.warn("could not renew a retriever's concurrency share", { pipeline, reason: messageOf(error) });
      }
      wake();
    }
  };
  const beating = beat().catch(() => undefined);

  return {
    /** Waits until one more query may be sent. Rejects with `signal.reason` if `signal` aborts. */
    async enter(signal: AbortSignal): Promise<void> {
      while (inFlight >= mostInFlight()) {
        signal.throwIfAborted();
        await orAborted(new Promise<void>((resolve) => waiting.push(resolve)), signal);
      }
      inFlight += 1;
      try {
        await turn(signal);
      } catch (error) {
        inFlight -= 1;
        wake();
        throw error;
      }
    },
    /**
     * Reports that an admitted query has ended. If the query failed without a meaningful latency, `latencyMs` is null.
     */
    leave(latencyMs: number | null, hasFailed: boolean): void {
      inFlight -= 1;
      failures = hasFailed ? failures + 1 : 0;
      if (latencyMs !== null) {
        const { factor: before } = backoff;
        backoff = observeLatency(backoff, latencyMs);
        const { factor } = backoff;
        if (factor !== before)
          logger.info("adjusted the rate of golden queries to the retriever's latency", { pipeline, factor });
      }
      wake();
    },
    /** Number of consecutive failures across all processes that call the retriever. */
    failuresInARow: (): number => failures + share.failuresElsewhere,
    async close(): Promise<void> {
      stop.abort();
      await beating;
      await db.limits.leave(pipeline, holder).catch(() => undefined);
    },
  };
}
