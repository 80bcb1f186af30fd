import { setTimeout as delay } from 'node:timers/promises';

/** Waits, or rejects with the reason of `signal` at once when it aborts. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
