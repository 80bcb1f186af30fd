/** Durations in milliseconds. Days have 24 hours: Unix time has no others. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Time as a parameter, so that tests can control waiting and timestamps. */
export interface Clock {
  now(): Date;
  /** Milliseconds that never go backwards, whatever happens to the wall clock. */
  monotonicMs(): number;
  /** Rejects with the reason of `signal` when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface TimeSpan {
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}
