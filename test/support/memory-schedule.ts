/** A schedule that ticks only when a test triggers it. */

import type { Cron } from '../../src/math/schedule/occurrences.ts';
import type { Schedule } from '../../src/platform/queue/node-cron.ts';

type Tick = (plannedAt: Date) => void;

export class MemorySchedule implements Schedule {
  readonly ticks: { readonly cron: Cron; readonly tick: Tick }[] = [];

  every(cron: Cron, tick: Tick): void {
    this.ticks.push({ cron, tick });
  }

  /** Calls every tick that is scheduled with `expression`. */
  fire(expression: string, plannedAt: Date): void {
    for (const { cron, tick } of this.ticks) if (cron.expression === expression) tick(plannedAt);
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
