/** Composes the threads in which the daemon computes. */
import type { CleanupStack } from '../cleanup-stack.ts';
import { createDensityCompute, type DensityCompute } from '../density/compute.ts';
import { createGoldenStatistics, type GoldenStatistics } from '../golden/golden-statistics.ts';
import type { Logger } from '../logger.ts';
import { createComputePool } from './compute/compute-pool.ts';

/** One thread leaves the other core of a small machine to requests. */
const THREADS = 1;
const MOST_WAITING = 16;

export interface Compute {
  readonly density: DensityCompute;
  readonly statistics: GoldenStatistics;
}

/** The threads start with the first work for them and end with the cleanups. */
export function openCompute(logger: Logger, cleanups: CleanupStack): Compute {
  const pool = createComputePool({
    threads: THREADS,
    mostWaiting: MOST_WAITING,
    onDone: ({ task, computeMs, totalMs, processBytes }) =>
      logger.debug('a computation is done', {
        task,
        compute_ms: Math.round(computeMs),
        total_ms: Math.round(totalMs),
        process_bytes: processBytes,
      }),
  });
  cleanups.defer('compute threads', () => pool.close());
  return { density: createDensityCompute(pool), statistics: createGoldenStatistics(pool) };
}
