/** Durations in milliseconds. Every day has 24 hours in Unix time. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Time as a parameter, so that tests can control waiting and timestamps. */
export interface Clock {
  now(): Date;
  /** Milliseconds of a clock that never goes backwards, even if the wall clock does. */
  monotonicMs(): number;
  /** Rejects with `signal.reason` when `signal` aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface TimeSpan {
  readonly from: Date;
  /** End of the period, exclusive. */
  readonly until: Date;
}
