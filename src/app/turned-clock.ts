/** A clock that its owner moves on, so that days pass in seconds; in between it goes as any other. */
import { systemClock } from '../core/system-clock.ts';
import type { Clock } from '../core/time.ts';

export interface TurnedClock extends Clock {
  set(now: Date): void;
}

/** How much more quickly pauses pass. */
const HASTE = 10;

export function createTurnedClock(start: Date): TurnedClock {
  let setTo = start.getTime();
  let setAtMs = systemClock.monotonicMs();
  return {
    set(now) {
      setTo = now.getTime();
      setAtMs = systemClock.monotonicMs();
    },
    now: () => new Date(setTo + systemClock.monotonicMs() - setAtMs),
    monotonicMs: () => systemClock.monotonicMs(),
    /** Pauses of the daemon, as the one before it asks a dead retriever again, pass more quickly as well. */
    sleep: (ms, signal) => systemClock.sleep(ms / HASTE, signal),
  };
}
