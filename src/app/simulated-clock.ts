/** A clock that its owner can set, so that days pass in seconds. Otherwise, the clock advances in real time. */
import { systemClock } from '../core/system-clock.ts';
import type { Clock } from '../core/time.ts';

/** The simulated clock divides every pause by this factor. */
const SPEED_UP = 10;

export function createSimulatedClock(start: Date): Clock & { set(now: Date): void } {
  let setTo = start.getTime();
  let setAtMs = systemClock.monotonicMs();
  return {
    set(now) {
      setTo = now.getTime();
      setAtMs = systemClock.monotonicMs();
    },
    now: () => new Date(setTo + systemClock.monotonicMs() - setAtMs),
    monotonicMs: () => systemClock.monotonicMs(),
    /**
     * Shortens every pause, including those of the daemon, such as the pause before it retries an unresponsive
     * retriever.
     */
    sleep: (ms, signal) => systemClock.sleep(ms / SPEED_UP, signal),
  };
}
