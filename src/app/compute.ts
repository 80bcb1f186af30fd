/** The thread pool for long computations, and the tasks that its threads run. */
import { densityTasks } from '../density/compute.ts';
import { goldenTasks } from '../golden/golden-statistics.ts';
import { createThreadPool, type ThreadPool, type ThreadPoolSettings } from '../platform/threads/thread-pool.ts';

export const tasks = { ...goldenTasks, ...densityTasks } as const;

export type ComputePool = ThreadPool<typeof tasks>;

export function createComputePool(settings: Omit<ThreadPoolSettings, 'tasks' | 'refusal'>): ComputePool {
  const refusal = 'Too many computations are waiting; this computation is deferred.';
  return createThreadPool<typeof tasks>({ ...settings, tasks: import.meta.url, refusal });
}
