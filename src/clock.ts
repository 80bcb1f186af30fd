/** Time as an argument, so that waiting and dating can be steered by a test. */
export interface Clock {
  now(): Date;
  /** Milliseconds that only ever grow, whatever happens to the wall clock. */
  monotonicMs(): number;
  /** Rejects with the reason of `signal` when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
