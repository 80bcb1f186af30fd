/** A clock by which waits are so many times as short as they are said to be, where a real service is waited for too. */
import { systemClock } from '../../src/core/system-clock.ts';
import type { Clock } from '../../src/core/time.ts';

export const hurriedClock = (times: number): Clock => ({
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() * times,
  sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
});
