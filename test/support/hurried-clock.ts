/** A clock that shortens all waits by a factor, including waits for real services. */
import { systemClock } from '../../src/core/system-clock.ts';
import type { Clock } from '../../src/core/time.ts';

export const hurriedClock = (times: number): Clock => ({
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() * times,
  sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
});
