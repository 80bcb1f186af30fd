/** A clock that is always correct, for schedules. */
import type { ClockWatch } from '../../src/app/clock-watch.ts';

export const aRightClock: ClockWatch = {
  problem: () => null,
  stop: async () => undefined,
  isRight: async () => true,
  whenRightAgain: () => undefined,
};
