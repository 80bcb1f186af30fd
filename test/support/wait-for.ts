import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  readonly timeoutMs?: number;
}

/** Return value of a predicate that holds: anything but false, null and undefined. */
type Held<T> = Exclude<T, false | null | undefined>;

/**
 * Minimum ratio of a pause to the previous response time, so that polling uses little CPU time. The minimum pause that
 * results is capped at MAX_REST_MS.
 */
const REST = 4;
const MAX_REST_MS = 1000;

/**
 * Polls until the predicate holds, and resolves with its value. A predicate that throws counts as not holding yet, so
 * an assertion can serve as the predicate. After the timeout, rejects with an error that states the last value.
 */
export async function waitFor<T>(
  predicate: () => T | Promise<T>,
  { timeoutMs = 240_000 }: WaitOptions = {},
): Promise<Held<T>> {
  const end = performance.now() + timeoutMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(100, pauseMs * 1.5)) {
    let last: string;
    let cause: unknown;
    const askedAt = performance.now();
    try {
      const value = await predicate();
      if (value !== false && value !== null && value !== undefined) return value as Held<T>;
      last = `it was ${String(value)}`;
    } catch (error) {
      cause = error;
      last = `it threw ${error instanceof Error ? error.message : String(error)}`;
    }
    const now = performance.now();
    if (now >= end) {
      throw new Error(`waited ${timeoutMs} ms in vain for ${predicate.toString()}; at last ${last}`, {
        cause,
      });
    }
    await delay(Math.max(pauseMs, Math.min(MAX_REST_MS, REST * (now - askedAt))));
  }
}
