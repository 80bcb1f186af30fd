/** A clock that is always correct, for schedules. */
import type { ClockWatch } from '../../src/app/clock-watch.ts';

export const aRightClock: Pick<ClockWatch, 'isRight' | 'whenRightAgain'> = {
  isRight: async () => true,
  whenRightAgain: () => undefined,
};
