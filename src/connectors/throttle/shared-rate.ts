/** A rate limit shared by all processes that call the same target: PostgreSQL assigns evenly spaced time slots. */
import type { Clock } from '../../core/time.ts';
import type { ThrottleLimits } from './limits.ts';

/** Duration for which slots are reserved at a time, so that reserving them does not limit the rate. */
const RESERVED_SECONDS = 0.25;

/**
 * Slots closer than this are served together, because a timer cannot separate them. A late slot is still used, because
 * rescheduling each slot would cost more.
 */
const CLOSE_MS = 5;
const MAX_LATE_MS = 50;

/**
 * Returns a function that waits for the next slot. Unused slots expire, so that a wait is never followed by a burst,
 * except for a burst of at most 50 ms if slots are close. After that, fewer slots are reserved at a time.
 */
export function createSharedRate(
  { limits, clock }: { readonly limits: Pick<ThrottleLimits, 'reserve'>; readonly clock: Clock },
  rate: {
    /** Name of the target, such as a pipeline's retriever. Processes that use the same name share the rate. */
    readonly name: string;
    /** Calls per second; may change from one reservation to the next. */
    perSecond(): number;
  },
): (signal: AbortSignal) => Promise<void> {
  let next = 0;
  let gapMs = 0;
  let reserved = 0;
  let batch = 1;
  let hasWasted = false;
  const take = async (): Promise<number> => {
    const lateMs = gapMs < CLOSE_MS ? MAX_LATE_MS : 0;
    while (reserved > 0 && next + lateMs < clock.monotonicMs()) {
      reserved -= 1;
      next += gapMs;
      hasWasted = true;
    }
    if (reserved === 0) {
      const perSecond = rate.perSecond();
      const maximum = Math.max(1, Math.floor(perSecond * RESERVED_SECONDS));
      batch = hasWasted ? 1 : Math.min(maximum, batch * 2);
      hasWasted = false;
      const waitMs = await limits.reserve(rate.name, batch, perSecond);
      next = clock.monotonicMs() + waitMs;
      gapMs = 1000 / perSecond;
      reserved = batch;
    }
    reserved -= 1;
    const slot = next;
    next += gapMs;
    return slot;
  };
  let last: Promise<unknown> = Promise.resolve();
  return async (signal) => {
    const slot = last.then(take, take);
    last = slot;
    const waitMs = (await slot) - clock.monotonicMs();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  };
}
