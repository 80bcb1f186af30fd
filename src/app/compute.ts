/** Composes the threads in which the daemon computes. */
import { createComputePool } from '../adapters/compute/compute-pool.ts';
import { createDensityCompute } from '../adapters/compute/density-compute.ts';
import { createGoldenStatistics } from '../adapters/compute/golden-statistics.ts';
import type { DensityCompute } from '../ports/density-compute.ts';
import type { GoldenStatistics } from '../ports/golden-statistics.ts';
import type { Logger } from '../ports/telemetry.ts';
import type { CleanupStack } from './cleanup-stack.ts';

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
