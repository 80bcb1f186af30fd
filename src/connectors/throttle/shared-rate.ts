/** A rate limit shared by all processes that call the same target: PostgreSQL assigns evenly spaced time slots. */
import type { Context } from '../../core/context.ts';

/**
 * Maximum period that one reservation covers. A reservation covers several slots, so that the duration of a reservation
 * does not limit the rate.
 */
const RESERVED_SECONDS = 0.25;

/**
 * If the time between slots is less than CLOSE_MS, a slot remains usable for MAX_LATE_MS after its time, because timers
 * are too coarse to separate such slots.
 */
const CLOSE_MS = 5;
const MAX_LATE_MS = 50;

/**
 * Returns a function that waits for the next slot. Unused slots expire, so that no burst follows a pause. If slots are
 * close together, a burst may contain all slots of a 50 ms period. The first reservation covers all slots within 5 ms,
 * but at least one slot. Each further reservation covers up to twice as many slots as the previous one. If reserved
 * slots expire unused, the next reservation is as small as the first.
 *
 * @param name the target, such as a pipeline's retriever; processes that use the same name share the rate
 * @param perSecond calls per second; may change from one reservation to the next
 */
export function createSharedRate({ db, clock }: Context, name: string, perSecond: () => number) {
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
      const rate = perSecond();
      const minimum = Math.max(1, Math.floor((rate * CLOSE_MS) / 1000));
      const maximum = Math.max(1, Math.floor(rate * RESERVED_SECONDS));
      batch = hasWasted ? minimum : Math.min(maximum, Math.max(minimum, batch * 2));
      hasWasted = false;
      const waitMs = await db.limits.reserve(name, batch, rate);
      next = clock.monotonicMs() + waitMs;
      gapMs = 1000 / rate;
      reserved = batch;
    }
    reserved -= 1;
    const slot = next;
    next += gapMs;
    return slot;
  };
  let last: Promise<unknown> = Promise.resolve();
  return async (signal: AbortSignal): Promise<void> => {
    const slot = last.then(take, take);
    last = slot;
    const waitMs = (await slot) - clock.monotonicMs();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  };
}
