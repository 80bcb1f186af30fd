import type { RunPurpose } from './golden-runs.ts';

/**
 * `missed`: nobody was there to start it, or it could not be stored in time. `no_full_run`: a sentinel has nothing to be compared with yet.
 */
export type SkipReason = 'quiet_hours' | 'daily_budget' | 'missed' | 'no_full_run';

export const skipReasons: readonly SkipReason[] = ['quiet_hours', 'daily_budget', 'missed', 'no_full_run'];

export interface TickSeries {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly purpose: RunPurpose;
}

export interface SkipCount extends TickSeries {
  readonly reason: SkipReason;
  readonly count: number;
}

/** What became of the ticks of schedules, and what they cost. */
export interface GoldenTicks {
  /** The latest planned time that came to a run or to a skip; null when there was none. */
  last(series: TickSeries): Promise<Date | null>;
  /** Notes ticks that came to no run; one that was noted before, by another replica, stays as it is. */
  skip(series: TickSeries, plannedFor: readonly Date[], reason: SkipReason, now: Date): Promise<void>;
  /** Skips noted at `since` or later, by series and reason; a tick that came to a run after all is none. */
  skips(since: Date): Promise<readonly SkipCount[]>;
  /** Queries that runs of a pipeline and set asked since a time; those of a running run count whole. */
  queriesSince(pipeline: string, goldenSet: string, since: Date): Promise<number>;
}
