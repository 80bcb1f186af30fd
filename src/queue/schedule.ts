/** Calls back at the times of a cron expression, in the process that started it; replicas all tick. */
export interface Schedule {
  /**
   * @param tick is given the planned time, equal on every replica, not the time at which it was woken
   */
  every(expression: string, timezone: string, tick: (plannedAt: Date) => void): void;
  /** The latest planned time at or before `now`. */
  previous(expression: string, timezone: string, now: Date): Date;
  /** The earliest planned time after `now`. */
  next(expression: string, timezone: string, now: Date): Date;
  /** Planned times after `from` and before `until`, oldest first; of more than 10,000 the latest. */
  between(expression: string, timezone: string, from: Date, until: Date): readonly Date[];
  /** The longest gap in seconds between two consecutive planned times of the near future. */
  longestGapSeconds(expression: string, timezone: string, now: Date): number;
  /** No tick starts after this. */
  stop(): Promise<void>;
}
