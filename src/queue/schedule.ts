import type { Cron } from '../schedule/occurrences.ts';

/** Calls back at the times of a cron expression, in the process that started it; replicas all tick. */
export interface Schedule {
  /**
   * @param tick is given the planned time, equal on every replica, not the time at which it was woken
   */
  every(cron: Cron, tick: (plannedAt: Date) => void): void;
  /** No tick starts after this. */
  stop(): Promise<void>;
}
