/** The way to a retriever: as many at a time and as fast as all who ask it may together, and slower when it slows. */

import { messageOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Clock } from '../../time.ts';
import { observeLatency, startBackoff } from '../rules/retriever-pace.ts';
import type { RunSettings } from '../rules/run.ts';
import type { RetrieverLimits } from '../sql/retriever-limits.ts';

/** Turns are booked for so long at a time, so that booking them is not what limits the pace. */
const BOOKED_SECONDS = 0.25;

/** Turns as close as this cannot be kept apart by a timer: a late one is still taken, as booking each anew costs more. */
const CLOSE_MS = 5;
const MAX_LATE_MS = 50;

interface SharedRateLimiterDeps {
  readonly limits: Pick<RetrieverLimits, 'reserve'>;
  readonly clock: Clock;
}

interface SharedRate {
  /** Whose pace it is. */
  readonly name: string;
  /** May change from one booking to the next. */
  perSecond(): number;
}

/**
 * Gives out booked turns, in milliseconds of the clock. A turn that nobody took in time is let go, so that waiting is
 * never followed by a burst, or of 50 ms at most where turns are close; then fewer are booked at a time.
 */
export function createSharedRateLimiter(
  { limits, clock }: SharedRateLimiterDeps,
  pace: SharedRate,
): () => Promise<number> {
  let next = 0;
  let gapMs = 0;
  let left = 0;
  let booked = 1;
  let hasWasted = false;
  const take = async (): Promise<number> => {
    const lateMs = gapMs < CLOSE_MS ? MAX_LATE_MS : 0;
    while (left > 0 && next + lateMs < clock.monotonicMs()) {
      left -= 1;
      next += gapMs;
      hasWasted = true;
    }
    if (left === 0) {
      const perSecond = pace.perSecond();
      const most = Math.max(1, Math.floor(perSecond * BOOKED_SECONDS));
      booked = hasWasted ? 1 : Math.min(most, booked * 2);
      hasWasted = false;
      const waitMs = await limits.reserve(pace.name, booked, perSecond);
      next = clock.monotonicMs() + waitMs;
      gapMs = 1000 / perSecond;
      left = booked;
    }
    left -= 1;
    const turn = next;
    next += gapMs;
    return turn;
  };
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const turn = last.then(take, take);
    last = turn;
    return turn;
  };
}

const LEASE_SECONDS = 10;
const HEARTBEAT_MS = 1000;

export interface GateDeps {
  readonly limits: RetrieverLimits;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface GateSettings extends Pick<RunSettings, 'concurrency' | 'maxPerSecond'> {
  readonly pipeline: string;
  /** Tells this asker from all others. */
  readonly holder: string;
  /** 95th percentile of latencies that counts as usual, in milliseconds; null learns it. */
  readonly usualLatencyMs: number | null;
}

export interface RetrieverGate {
  /** Waits until one more query may be asked. Rejects with the reason of `signal`. */
  enter(signal: AbortSignal): Promise<void>;
  /** Says that a query that was let in has ended; null when its latency says nothing. */
  leave(latencyMs: number | null, hasFailed: boolean): void;
  /** Failures since the last answer, those of all who ask the retriever together. */
  failuresInARow(): number;
  close(): Promise<void>;
}

/** @throws what `limits` rejects with when nobody can say how many may ask */
export async function openRetrieverGate(deps: GateDeps, settings: GateSettings): Promise<RetrieverGate> {
  const { limits, clock, logger } = deps;
  const { pipeline, holder, concurrency } = settings;
  let backoff = startBackoff(settings.usualLatencyMs);
  let share = await limits.share(pipeline, holder, { concurrency, using: 0, failuresInARow: 0 }, LEASE_SECONDS);
  let inFlight = 0;
  let failures = 0;
  let waiting: (() => void)[] = [];
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resume of woken) resume();
  };
  const mostInFlight = (): number => Math.min(share.slots, Math.max(1, Math.floor(concurrency * backoff.factor)));
  const nextTurn = createSharedRateLimiter(deps, {
    name: pipeline,
    perSecond: () => settings.maxPerSecond * backoff.factor,
  });

  const stop = new AbortController();
  const beat = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, stop.signal);
      const using = Math.max(share.slots, inFlight);
      try {
        share = await limits.share(pipeline, holder, { concurrency, using, failuresInARow: failures }, LEASE_SECONDS);
      } catch (error) {
        logger.warn('the share of a retriever could not be renewed', { pipeline, reason: messageOf(error) });
      }
      wake();
    }
  };
  const beating = beat().catch(() => undefined);

  const leave: RetrieverGate['leave'] = (latencyMs, hasFailed) => {
    inFlight -= 1;
    failures = hasFailed ? failures + 1 : 0;
    if (latencyMs !== null) {
      const before = backoff.factor;
      backoff = observeLatency(backoff, latencyMs);
      if (backoff.factor !== before)
        logger.info('the pace of golden queries follows the latency of the retriever', {
          pipeline,
          factor: backoff.factor,
        });
    }
    wake();
  };

  return {
    async enter(signal) {
      while (inFlight >= mostInFlight()) {
        signal.throwIfAborted();
        await untilWoken(waiting, signal);
      }
      inFlight += 1;
      try {
        const waitMs = (await nextTurn()) - clock.monotonicMs();
        if (waitMs > 0) await clock.sleep(waitMs, signal);
      } catch (error) {
        inFlight -= 1;
        wake();
        throw error;
      }
    },
    leave,
    failuresInARow: () => failures + share.failuresElsewhere,
    async close() {
      stop.abort();
      await beating;
      await limits.leave(pipeline, holder).catch(() => undefined);
    },
  };
}

function untilWoken(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    waiting.push(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
  });
}
