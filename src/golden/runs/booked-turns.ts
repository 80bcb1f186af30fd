/** Turns of a pace that all processes keep together. */
import type { Clock } from '../../clock.ts';
import type { RetrieverLimits } from '../sql/retriever-limits.ts';

/** Turns are booked for so long at a time, so that booking them is not what limits the pace. */
const BOOKED_SECONDS = 0.25;

export interface BookedTurnsDeps {
  readonly limits: Pick<RetrieverLimits, 'reserve'>;
  readonly clock: Clock;
}

export interface SharedPace {
  /** Whose pace it is. */
  readonly name: string;
  /** May change from one booking to the next. */
  perSecond(): number;
}

/**
 * Gives out booked turns, in milliseconds of the clock. A turn that nobody took in time is let go, so that waiting is
 * never followed by a burst; then fewer are booked at a time.
 */
export function createBookedTurns(
  { limits, clock }: BookedTurnsDeps,
  pace: SharedPace,
): () => Promise<number> {
  let next = 0;
  let gapMs = 0;
  let left = 0;
  let booked = 1;
  let hasWasted = false;
  const take = async (): Promise<number> => {
    while (left > 0 && next < clock.monotonicMs()) {
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
