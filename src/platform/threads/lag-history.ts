/**
 * Records delays that distort the latencies measured by this process: event loop delays, and delays caused by
 * overloaded processors.
 */
import { type Clock, MINUTE_MS } from '../../core/time.ts';

export type LagHistory = ReturnType<typeof createLagHistory>;

/** Minimum delay that is recorded; shorter delays are negligible in measured latencies. */
const LATE_SECONDS = 0.05;
/** Load per processor at which a process spends as much time waiting for a processor as running. */
const OVERLOAD = 2;
const KEPT_MINUTES = 120;

/** @param intervalSeconds interval of the timer whose delay is recorded */
export function createLagHistory(clock: Clock, intervalSeconds: number) {
  const minutes = new Map<number, { total: number; late: number; queued: number }>();
  const shareOf = (what: 'late' | 'queued', from: Date, until: Date): number | null => {
    const within = [...minutes].filter(([minute]) => minute >= minuteOf(from) && minute <= minuteOf(until));
    const total = within.reduce((sum, [, one]) => sum + one.total, 0);
    return total === 0 ? null : within.reduce((sum, [, one]) => sum + one[what], 0) / total;
  };
  return {
    /**
     * @param seconds timer delay
     * @param queued number of processes, per processor, that are running or waiting to run; 0 if the system does not
     * report it
     */
    record(seconds: number, queued: number): void {
      const minute = minuteOf(clock.now());
      const known = minutes.get(minute) ?? { total: 0, late: 0, queued: 0 };
      const late = seconds < LATE_SECONDS ? 0 : seconds;
      const spent = intervalSeconds + seconds;
      minutes.set(minute, {
        total: known.total + spent,
        late: known.late + late,
        queued: known.queued + (queued < OVERLOAD ? 0 : spent),
      });
      for (const old of minutes.keys()) if (old <= minute - KEPT_MINUTES) minutes.delete(old);
    },

    /**
     * Share of the period, 0 to 1, during which the event loop was blocked. Null if the process did not run in the
     * period, or no longer retains its delays.
     */
    lateShare: (from: Date, until: Date): number | null => shareOf('late', from, until),
    /**
     * Share of time with at least twice as many runnable processes as processors, 0 to 1; null in the same cases as
     * `lateShare`.
     */
    queuedShare: (from: Date, until: Date): number | null => shareOf('queued', from, until),
  };
}

function minuteOf(at: Date): number {
  return Math.floor(at.getTime() / MINUTE_MS);
}
