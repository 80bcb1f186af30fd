/** What the threads that compute can be asked, and their pool. */
import { densityTasks } from '../density/compute.ts';
import { goldenTasks } from '../golden/golden-statistics.ts';
import { createThreadPool, type ThreadPool, type ThreadPoolSettings } from '../platform/threads/thread-pool.ts';

export const tasks = { ...goldenTasks, ...densityTasks } as const;

/** The threads of query density and of the statistics of golden runs. */
export type ComputePool = ThreadPool<typeof tasks>;

export function createComputePool(
  settings: Pick<ThreadPoolSettings, 'threads' | 'mostWaiting' | 'onDone'>,
): ComputePool {
  const refusal = 'More computations wait than can be done; this one runs later.';
  return createThreadPool({ ...settings, tasks: import.meta.url, refusal });
}
