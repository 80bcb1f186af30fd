/** History of what makes every latency that this process measures too long: delays of its event loop, and a machine whose processors are taken. */
import { type Clock, MINUTE_MS } from '../../core/time.ts';

export type LagHistory = ReturnType<typeof createLagHistory>;

/** A shorter delay is lost in any measured latency. */
const LATE_SECONDS = 0.05;
/** Processes for each processor from which on one that is ready waits for as long as it runs. */
const QUEUED = 2;
const KEPT_MINUTES = 120;

/** @param intervalSeconds of the timer whose lateness is recorded */
export function createLagHistory(clock: Pick<Clock, 'now'>, intervalSeconds: number) {
  const minutes = new Map<number, { total: number; late: number; queued: number }>();
  const shareOf = (what: 'late' | 'queued', from: Date, until: Date): number | null => {
    const within = [...minutes].filter(([minute]) => minute >= minuteOf(from) && minute <= minuteOf(until));
    const total = within.reduce((sum, [, one]) => sum + one.total, 0);
    return total === 0 ? null : within.reduce((sum, [, one]) => sum + one[what], 0) / total;
  };
  return {
    /**
     * @param seconds by which a timer came late
     * @param queued processes that run or wait to run, for each processor; 0 where the system does not tell
     */
    record(seconds: number, queued: number): void {
      const minute = minuteOf(clock.now());
      const known = minutes.get(minute) ?? { total: 0, late: 0, queued: 0 };
      const late = seconds < LATE_SECONDS ? 0 : seconds;
      const spent = intervalSeconds + seconds;
      minutes.set(minute, {
        total: known.total + spent,
        late: known.late + late,
        queued: known.queued + (queued < QUEUED ? 0 : spent),
      });
      for (const old of minutes.keys()) if (old <= minute - KEPT_MINUTES) minutes.delete(old);
    },

    /** Share of a time in which the loop was held up, 0..1; null when the process did not run in it, or too long ago. */
    lateShare: (from: Date, until: Date): number | null => shareOf('late', from, until),
    /** Share of a time in which at least twice as many processes wanted to run as there are processors, 0..1; null as above. */
    queuedShare: (from: Date, until: Date): number | null => shareOf('queued', from, until),
  };
}

function minuteOf(at: Date): number {
  return Math.floor(at.getTime() / MINUTE_MS);
}
