import { createThreadPool, type ThreadPool, type ThreadPoolSettings } from '../../threads/thread-pool.ts';
import type { tasks } from './tasks.ts';

/** The threads of query density and of the statistics of golden runs. */
export type ComputePool = ThreadPool<typeof tasks>;

export function createComputePool(
  settings: Pick<ThreadPoolSettings, 'threads' | 'mostWaiting' | 'onDone'>,
): ComputePool {
  const refusal = 'More computations wait than can be done; this one runs later.';
  return createThreadPool({ ...settings, folder: import.meta.dirname, refusal });
}
