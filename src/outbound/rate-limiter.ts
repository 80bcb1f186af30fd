import type { Clock } from '../clock.ts';

/** Evenly spaced turns, at most `perSecond` of them in any second. */
export function createPace(clock: Clock, perSecond: number): (signal: AbortSignal) => Promise<void> {
  const gapMs = 1000 / perSecond;
  let next = clock.monotonicMs();
  return async (signal) => {
    const now = clock.monotonicMs();
    const turn = Math.max(now, next);
    next = turn + gapMs;
    if (turn > now) await clock.sleep(turn - now, signal);
  };
}
