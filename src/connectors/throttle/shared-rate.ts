/** One rate for all processes that ask the same: turns are booked in PostgreSQL, evenly spaced. */
import type { Clock } from '../../core/time.ts';
import type { ThrottleLimits } from './limits.ts';

/** Turns are booked for so long at a time, so that booking them is not what limits the rate. */
const BOOKED_SECONDS = 0.25;

/** Turns as close as this cannot be kept apart by a timer: a late one is still taken, as scheduling each again costs more. */
const CLOSE_MS = 5;
const MAX_LATE_MS = 50;

/**
 * Returns what waits for the next turn. A turn that no call took in time is let go, so that waiting is never followed by
 * a burst, or of 50 ms at most where turns are close; then fewer are booked at a time.
 */
export function createSharedRate(
  { limits, clock }: { readonly limits: Pick<ThrottleLimits, 'reserve'>; readonly clock: Clock },
  rate: {
    /** What is asked, such as the retriever of a pipeline: all who give this name share the rate. */
    readonly name: string;
    /** May change from one booking to the next. */
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
