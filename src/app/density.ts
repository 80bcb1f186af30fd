/** Composes what watches over query density. */
import { randomBytes } from 'node:crypto';
import { createDensityBaselines } from '../adapters/postgres/density/density-baselines.ts';
import { createQueryCoverage } from '../adapters/postgres/density/query-coverage.ts';
import { userIdHmac } from '../core/privacy/keyed-hash.ts';
import type { EvaluateDensityDeps } from '../pipeline/density/evaluate.ts';
import { goldenFell } from '../pipeline/density/golden-control.ts';
import type { LookForTopicsDeps } from '../pipeline/density/look-for-topics.ts';
import type { MeasureCoverageDeps } from '../pipeline/density/measure-coverage.ts';
import { probeEmbedder } from '../pipeline/probes/probe-embedder.ts';
import { probeStore } from '../pipeline/probes/probe-store.ts';
import type { ProbeDeps } from '../pipeline/probes/probes.ts';
import type { Dependencies } from './dependencies.ts';

/** What the jobs of query density work with. */
export function createDensityDeps(
  dependencies: Dependencies,
  probes: ProbeDeps,
): EvaluateDensityDeps & MeasureCoverageDeps {
  const { storage, clock, logger, deployments, measurements, runs, limits, exporter, hashKey, compute } =
    dependencies;
  const { densityPlans: plans, densityStates: states } = dependencies;
  const { pool } = storage;
  return {
    coverage: createQueryCoverage(pool),
    baselines: createDensityBaselines(pool),
    states,
    limits,
    meter: exporter.meter,
    compute: compute.density,
    deployments,
    measurements,
    clock,
    logger,
    plans,
    // As the session of a query without one is hashed at its arrival.
    sessionOfNone: (queryId) => userIdHmac(queryId, hashKey),
    goldenFell: async (pipeline) => goldenFell(await runs.latest(), pipeline),
    async lookAgain({ pipeline, store, embedder }, signal) {
      await probeStore(probes, pipeline, store, signal);
      if (embedder !== null) await probeEmbedder(probes, pipeline, embedder, signal);
    },
  };
}

/** What the job that looks for uncovered topics works with. */
export function createTopicDeps(density: EvaluateDensityDeps, { topics }: Dependencies): LookForTopicsDeps {
  // Short enough to type: t-3f9a1c2b07.
  return { ...density, topics, newTopicId: () => `t-${randomBytes(5).toString('hex')}` };
}
