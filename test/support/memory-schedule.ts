/** A schedule that ticks when a test says so. */
import type { Schedule } from '../../src/ports/schedule.ts';

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

  longestGapSeconds(): number {
    return 3600;
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
