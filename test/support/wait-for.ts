import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  readonly timeoutMs?: number;
}

/** What a predicate says when it holds: anything but false, null and undefined. */
type Held<T> = Exclude<T, false | null | undefined>;

/** Pauses are so many times as long as the answer before them took, so that asking takes a small part of the machine. */
const REST = 4;
const MAX_REST_MS = 1000;

/**
 * Asks again and again until the predicate holds, and resolves with what it said then. A predicate that throws does
 * not hold yet, so assertions may be used as one. Rejects when the time is over, with what was seen last.
 */
export async function waitFor<T>(
  predicate: () => T | Promise<T>,
  { timeoutMs = 90_000 }: WaitOptions = {},
): Promise<Held<T>> {
  const end = performance.now() + timeoutMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(100, pauseMs * 1.5)) {
    let last: string;
    let cause: unknown;
    const askedAt = performance.now();
    try {
      const said = await predicate();
      if (said !== false && said !== null && said !== undefined) return said as Held<T>;
      last = `it was ${String(said)}`;
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
