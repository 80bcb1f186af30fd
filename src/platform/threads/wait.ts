/**
 * Functions that stop waiting when a signal aborts or a time limit is reached, and that leave no timer and no listener
 * behind.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after `ms` milliseconds. Rejects with `signal.reason` as soon as the signal aborts. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * Resolves or rejects with the outcome of `work`. If the signal aborts first, rejects immediately with `signal.reason`;
 * `work` then continues, and its outcome is discarded. Many calls may share one signal.
 */
export function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  setMaxListeners(0, signal);
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  });
}

/** Returns false if `work` neither resolved nor rejected within the time limit. Rejects like `work`. */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
