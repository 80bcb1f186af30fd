/** Composes what the handlers of jobs work with. */

import { createStoreSnapshots } from '../adapters/postgres/density/store-snapshots.ts';
import { createGoldenDocuments } from '../adapters/postgres/golden/golden-documents.ts';
import { createLiveWindows } from '../adapters/postgres/live/live-windows.ts';
import { runGoldenSetJob } from '../jobs/golden-jobs.ts';
import type { JobDeps } from '../jobs/job-definition.ts';
import type { GoldenRun } from '../ports/golden-runs.ts';
import { createDensityDeps, createTopicDeps } from './density.ts';
import { type Dependencies, feedbackSources } from './dependencies.ts';
import { createDiagnoseDeps } from './diagnosis.ts';
import { createLivePlans, liveIntervalSeconds, MOST_SAMPLES } from './live-measures.ts';
import { findPipeline } from './pipelines.ts';
import { createProbeDeps } from './probes.ts';
import { newRunId } from './run-id.ts';

export function createJobDeps(dependencies: Dependencies): JobDeps {
  const { baselines, deployments, rotations, ticks, batches, limits } = dependencies;
  const { config, sets, runs, traffic, measurements, queue, clock, logger, pipelines, replica } =
    dependencies;
  const isWatched = (name: string): boolean => pipelines.some((pipeline) => pipeline.name === name);
  const resume = (run: GoldenRun): Promise<void> => {
    // A run that waits in a long queue is enqueued again once a minute at most.
    const minute = Math.floor(clock.now().getTime() / 60_000);
    const payload = { run_id: run.id, round: `resumed-${minute}` };
    return queue.enqueue(runGoldenSetJob.name, payload, `${run.id}-resumed-${minute}`);
  };
  const probes = createProbeDeps(dependencies);
  const density = createDensityDeps(dependencies, probes);
  return {
    sets,
    runs,
    baselines,
    statistics: dependencies.compute.statistics,
    deployments,
    rotations,
    batches,
    limits,
    queue,
    escalate: { runs, ticks, clock, logger, newRunId, resume },
    rotate: { sets, runs, rotations, deployments, clock, logger },
    traffic,
    clock,
    logger,
    holder: replica,
    retentionDays: new Map(config.pipelines.map(({ name, privacy }) => [name, privacy.retention_days])),
    recover: { runs, clock, logger, isWatched, resume },
    measurements,
    measurementRetentionDays: config.storage.measurement_retention_days,
    measureLive: {
      windows: createLiveWindows(dependencies.storage.pool),
      measurements,
      clock,
      logger,
      plans: createLivePlans(config),
      mostSamples: MOST_SAMPLES,
    },
    measureFeedback: { traffic, measurements, clock, feedbackSources: feedbackSources(config) },
    evaluateChecks: {
      ...dependencies,
      liveIntervalSeconds: liveIntervalSeconds(dependencies.schedule, clock),
    },
    pipelines,
    density,
    topics: createTopicDeps(density, dependencies),
    diagnose: createDiagnoseDeps(dependencies),
    probes,
    snapshots: {
      ...probes,
      snapshots: createStoreSnapshots(dependencies.storage.pool),
      compute: density.compute,
    },
    goldenUpkeep: {
      sets,
      runs,
      measurements,
      clock,
      logger,
      samples: probes.samples,
      documents: createGoldenDocuments(dependencies.storage.pool),
    },
    findPipeline: (name) => (isWatched(name) ? findPipeline(pipelines, name) : null),
  };
}
