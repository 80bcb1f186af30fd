/** A schedule that ticks when a test says so. */
import type { Schedule } from '../../src/queue/schedule.ts';

const HOUR_MS = 3_600_000;

type Tick = (plannedAt: Date) => void;

export class MemorySchedule implements Schedule {
  readonly ticks: { readonly expression: string; readonly timezone: string; readonly tick: Tick }[] = [];
  readonly #previous: Date;

  /** @param previous the latest planned time of every expression */
  constructor(previous: Date) {
    this.#previous = previous;
  }

  every(expression: string, timezone: string, tick: Tick): void {
    this.ticks.push({ expression, timezone, tick });
  }

  /** Ticks everything that is planned by `expression`. */
  fire(expression: string, plannedAt: Date): void {
    for (const planned of this.ticks) if (planned.expression === expression) planned.tick(plannedAt);
  }

  previous(): Date {
    return this.#previous;
  }

  /** The next whole hour. */
  next(_expression: string, _timezone: string, now: Date): Date {
    return new Date((Math.floor(now.getTime() / HOUR_MS) + 1) * HOUR_MS);
  }

  /** Whole hours. */
  between(_expression: string, _timezone: string, from: Date, until: Date): readonly Date[] {
    const hours: Date[] = [];
    for (let at = this.next('', '', from); at < until; at = this.next('', '', at)) hours.push(at);
    return hours;
  }

  longestGapSeconds(): number {
    return 3600;
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
