import type { DensityCompute } from '../../ports/density-compute.ts';
import type { ComputePool } from './compute-pool.ts';

/** The passes of query density in worker threads. */
export function createDensityCompute(pool: ComputePool): DensityCompute {
  return {
    buildBaseline: (traffic, parts, signal) =>
      pool.run('buildBaseline', { traffic, settings: parts }, signal),
    measureWindow: (traffic, baseline, signal) => pool.run('measureWindow', { traffic, baseline }, signal),
    compareWithBaseline: (queries, baseline, signal) =>
      pool.run('compareWithBaseline', { queries, baseline }, signal),
    findTopics: (traffic, baseline, signal) => pool.run('findTopics', { traffic, baseline }, signal),
    describeStore: (sample, traffic, signal) => pool.run('describeStore', { sample, ...traffic }, signal),
  };
}
