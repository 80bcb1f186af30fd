/**
 * Lengths of time in milliseconds (days are those of 24 hours: Unix time has no others), and time as an argument, so that
 * waiting and dating can be steered by a test.
 */

/** Lengths of time in milliseconds. Days are those of 24 hours: Unix time has no others. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Time as an argument, so that waiting and dating can be steered by a test. */
export interface Clock {
  now(): Date;
  /** Milliseconds that only ever grow, whatever happens to the wall clock. */
  monotonicMs(): number;
  /** Rejects with the reason of `signal` when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface TimeSpan {
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}
