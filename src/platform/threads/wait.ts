/**
 * Shared waits, and waits that end when a signal aborts or a time limit is reached. They leave no timers or listeners
 * behind.
 */
import { setMaxListeners } from 'node:events';

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

/** Rejects if `work` takes longer than `ms`; otherwise, resolves or rejects like `work`. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  work.catch(() => undefined);
  if (!(await endsWithin(work, ms))) throw new Error(`no response within ${ms / 1000} s`);
}

/**
 * Returns a function whose concurrent callers share one run of `work`. The shared result may predate a caller's call,
 * so use this function only for snapshots such as readiness, not for reads after a write.
 */
export function sharedRun<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
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
