/** A rate limit shared by all processes with the same target: PostgreSQL hands out evenly spaced time slots. */
import type { Clock } from '../../core/time.ts';
import type { ThrottleLimits } from './limits.ts';

/** Slots are reserved for this long at a time, so that reserving them does not limit the rate. */
const BOOKED_SECONDS = 0.25;

/**
 * A timer cannot separate slots that are this close: a late one is still used, since rescheduling each would cost more.
 */
const CLOSE_MS = 5;
const MAX_LATE_MS = 50;

/**
 * Returns a function that waits for the next slot. Unused slots expire, so that a wait is never followed by a burst,
 * except for one of at most 50 ms where slots are close; after that fewer are reserved at a time.
 */
export function createSharedRate(
  { limits, clock }: { readonly limits: Pick<ThrottleLimits, 'reserve'>; readonly clock: Clock },
  rate: {
    /** Name of the target, such as the retriever of a pipeline: processes with the same name share the rate. */
    readonly name: string;
    /** May change from one reservation to the next. */
    perSecond(): number;
  },
): (signal: AbortSignal) => Promise<void> {
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
      const perSecond = rate.perSecond();
      const most = Math.max(1, Math.floor(perSecond * BOOKED_SECONDS));
      booked = hasWasted ? 1 : Math.min(most, booked * 2);
      hasWasted = false;
      const waitMs = await limits.reserve(rate.name, booked, perSecond);
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
  return async (signal) => {
    const turn = last.then(take, take);
    last = turn;
    const waitMs = (await turn) - clock.monotonicMs();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  };
}
