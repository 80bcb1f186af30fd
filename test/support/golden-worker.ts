/**
 * A worker on golden runs, over a real database and a real queue: in the process of a test, or in one of its own that a
 * test can kill. Started with one argument, GoldenWorkerSettings as JSON, it says `ready` on stdout and works on.
 */

import { pathToFileURL } from 'node:url';
import { Pool, type PoolConfig } from 'pg';
import { statisticsOfCommands as statistics } from '../../src/adapters/compute/golden-statistics.ts';
import { createCheckHistory } from '../../src/adapters/postgres/check-history.ts';
import { createDensityStates } from '../../src/adapters/postgres/density/density-states.ts';
import { createEmbeddingCanaries } from '../../src/adapters/postgres/density/embedding-canaries.ts';
import { createUncoveredTopics } from '../../src/adapters/postgres/density/uncovered-topics.ts';
import { createDeployments } from '../../src/adapters/postgres/deployments.ts';
import { createDiagnoses } from '../../src/adapters/postgres/diagnoses.ts';
import { createGoldenBaselines } from '../../src/adapters/postgres/golden/golden-baselines.ts';
import { createGoldenBatches } from '../../src/adapters/postgres/golden/golden-batches.ts';
import { createGoldenDocuments } from '../../src/adapters/postgres/golden/golden-documents.ts';
import { createGoldenRotations } from '../../src/adapters/postgres/golden/golden-rotations.ts';
import { createGoldenRuns } from '../../src/adapters/postgres/golden/golden-runs.ts';
import { createGoldenSets } from '../../src/adapters/postgres/golden/golden-sets.ts';
import { createGoldenTicks } from '../../src/adapters/postgres/golden/golden-ticks.ts';
import { createLiveSamples } from '../../src/adapters/postgres/live/live-samples.ts';
import { createLiveTraffic } from '../../src/adapters/postgres/live/live-traffic.ts';
import { createLiveWindows } from '../../src/adapters/postgres/live/live-windows.ts';
import { createMeasurements } from '../../src/adapters/postgres/measurements.ts';
import { createRetrieverLimits } from '../../src/adapters/postgres/retriever-limits.ts';
import type { BackendSettings } from '../../src/adapters/queue/backends.ts';
import { openJobQueue } from '../../src/adapters/queue/bullmq.ts';
import { createHttpRetriever } from '../../src/adapters/retriever/http.ts';
import { newRunId } from '../../src/app/run-id.ts';
import { systemClock } from '../../src/app/system-clock.ts';
import { diagnoseAlarmsJob } from '../../src/jobs/diagnosis-jobs.ts';
import { askGoldenBatchJob, recoverGoldenRunsJob, runGoldenSetJob } from '../../src/jobs/golden-jobs.ts';
import { type JobDeps } from '../../src/jobs/job-definition.ts';
import { createJobRunner } from '../../src/jobs/run-job.ts';
import type { WatchedPipeline } from '../../src/pipeline/watched-pipeline.ts';
import type { JobQueue } from '../../src/ports/job-queue.ts';
import { aWatchedPipeline } from './builders.ts';
import { silentLogger } from './log.ts';
import { MemoryMeter } from './memory-telemetry.ts';

export interface GoldenWorkerSettings {
  readonly connection: PoolConfig;
  readonly backend: BackendSettings;
  readonly retrieverUrl: string;
  readonly holder: string;
}

export interface GoldenWorker {
  readonly queue: JobQueue;
  readonly deps: JobDeps;
  stop(): Promise<void>;
}

export const goldenJobs = [runGoldenSetJob, askGoldenBatchJob, recoverGoldenRunsJob, diagnoseAlarmsJob];

/** A pipeline `docs` behind a real service; parts say what else it is. */
export function aPipelineAt(retrieverUrl: string, parts: Partial<WatchedPipeline> = {}): WatchedPipeline {
  const retriever = createHttpRetriever({
    url: retrieverUrl,
    method: 'POST',
    headers: {},
    body: { query: '{{text}}', k: '{{k}}' },
    results: { list: 'results', id: 'id', score: 'score' },
    timeoutMs: 2000,
    retries: 0,
  });
  return aWatchedPipeline({ retriever, ...parts });
}

export async function startGoldenWorker(
  { connection, backend, holder }: Omit<GoldenWorkerSettings, 'retrieverUrl'>,
  pipeline: WatchedPipeline,
): Promise<GoldenWorker> {
  const pool = new Pool({ ...connection, max: 8 });
  const clock = systemClock;
  const logger = silentLogger;
  const queue = await openJobQueue({ backend, jobs: goldenJobs, logger, lostAfterMs: 2000 });
  const sets = createGoldenSets(pool);
  const runs = createGoldenRuns(pool);
  const rotations = createGoldenRotations(pool);
  const deployments = createDeployments(pool);
  const measurements = createMeasurements(pool);
  let resumed = 0;
  const resume: JobDeps['recover']['resume'] = (run) => {
    const round = `resumed-${holder}-${(resumed += 1)}`;
    return queue.enqueue(runGoldenSetJob.name, { run_id: run.id, round }, `${run.id}-${round}`);
  };
  const canaries = createEmbeddingCanaries(pool);
  const documents = createGoldenDocuments(pool);
  const samples = createLiveSamples(pool);
  const baselines = createGoldenBaselines(pool);
  const deps: JobDeps = {
    sets,
    runs,
    rotations,
    deployments,
    batches: createGoldenBatches(pool),
    limits: createRetrieverLimits(pool),
    baselines,
    statistics,
    queue,
    clock,
    logger,
    holder,
    escalate: { runs, ticks: createGoldenTicks(pool), clock, logger, newRunId, resume },
    rotate: { sets, runs, rotations, deployments, clock, logger },
    recover: { runs, clock, logger, isWatched: (name) => name === pipeline.name, resume },
    traffic: createLiveTraffic(pool, holder),
    retentionDays: new Map(),
    measurements,
    measurementRetentionDays: 400,
    measureLive: {
      windows: createLiveWindows(pool),
      measurements,
      clock,
      logger,
      plans: [],
      mostSamples: 1,
    },
    pipelines: [pipeline],
    probes: { clock, logger, deployments, measurements, canaries, samples },
    diagnose: {
      sets,
      runs,
      baselines,
      measurements,
      history: createCheckHistory(pool),
      deployments,
      densityStates: createDensityStates(pool),
      topics: createUncoveredTopics(pool),
      diagnoses: createDiagnoses(pool),
      densityPlans: [],
      intervalSeconds: () => null,
      clock,
      logger,
    },
    // Only the jobs of golden runs are worked on.
    density: { plans: [] } as unknown as JobDeps['density'],
    topics: { plans: [] } as unknown as JobDeps['topics'],
    measureFeedback: {} as unknown as JobDeps['measureFeedback'],
    evaluateChecks: {} as unknown as JobDeps['evaluateChecks'],
    snapshots: {} as unknown as JobDeps['snapshots'],
    goldenUpkeep: { sets, runs, measurements, clock, logger, samples, documents },
    findPipeline: (name) => (name === pipeline.name ? pipeline : null),
  };
  const shutdown = new AbortController();
  await queue.work(
    createJobRunner({ jobDeps: deps, clock, logger, meter: new MemoryMeter(), shutdown: shutdown.signal }),
  );
  return {
    queue,
    deps,
    async stop() {
      shutdown.abort(new Error('the worker stops'));
      await queue.close();
      await pool.end();
    },
  };
}

const [, script = '', argument = '{}'] = process.argv;
if (import.meta.url === pathToFileURL(script).href) {
  const settings = JSON.parse(argument) as GoldenWorkerSettings;
  await startGoldenWorker(settings, aPipelineAt(settings.retrieverUrl));
  process.stdout.write('ready\n');
}
