/** History of the delays of this process's event loop, which make every latency that it measures too long. */
import { type Clock, MINUTE_MS } from '../time.ts';

export interface LagHistory {
  /** @param seconds by which a timer came late */
  record(seconds: number): void;
  /** Share of a time in which the loop was held up, 0..1; null when the process did not run in it, or too long ago. */
  lateShare(from: Date, until: Date): number | null;
}

/** A shorter delay is lost in any measured latency. */
const LATE_SECONDS = 0.05;
const KEPT_MINUTES = 120;

/** @param intervalSeconds of the timer whose lateness is recorded */
export function createLagHistory(clock: Pick<Clock, 'now'>, intervalSeconds: number): LagHistory {
  const minutes = new Map<number, { total: number; late: number }>();
  return {
    record(seconds) {
      const minute = minuteOf(clock.now());
      const known = minutes.get(minute) ?? { total: 0, late: 0 };
      const late = seconds < LATE_SECONDS ? 0 : seconds;
      minutes.set(minute, { total: known.total + intervalSeconds + seconds, late: known.late + late });
      for (const old of minutes.keys()) if (old <= minute - KEPT_MINUTES) minutes.delete(old);
    },

    lateShare(from, until) {
      const within = [...minutes].filter(([minute]) => minute >= minuteOf(from) && minute <= minuteOf(until));
      const total = within.reduce((sum, [, one]) => sum + one.total, 0);
      return total === 0 ? null : within.reduce((sum, [, one]) => sum + one.late, 0) / total;
    },
  };
}

function minuteOf(at: Date): number {
  return Math.floor(at.getTime() / MINUTE_MS);
}
