/** Lets a bounded number of tasks run at a time; others wait for their turn. */
export type Semaphore = <T>(task: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** A task whose signal aborts before its turn is never started, and rejects with the reason. */
export function createSemaphore(most: number): Semaphore {
  const waiting = new Set<() => void>();
  let running = 0;

  const takeTurn = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', giveUp);
        running++;
        resolve();
      };
      const giveUp = (): void => {
        waiting.delete(start);
        reject(signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      if (running < most) return start();
      waiting.add(start);
      signal.addEventListener('abort', giveUp, { once: true });
    });

  return async (task, signal) => {
    await takeTurn(signal);
    try {
      return await task();
    } finally {
      running--;
      const [next] = waiting;
      if (next !== undefined) {
        waiting.delete(next);
        next();
      }
    }
  };
}
