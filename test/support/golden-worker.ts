/**
 * A worker on golden runs, over a real database and a real queue: in the process of a test, or in one of its own that a
 * test can kill. Started with one argument, GoldenWorkerSettings as JSON, it says `ready` on stdout and works on.
 */

import { pathToFileURL } from 'node:url';
import { Pool, type PoolConfig } from 'pg';
import { type JobDeps, jobCatalogue } from '../../src/app/jobs.ts';
import { createCheckStore } from '../../src/checks/check-store.ts';
import { createThrottleLimits } from '../../src/connectors/throttle/limits.ts';
import { systemClock } from '../../src/core/system-clock.ts';
import { topicsTable } from '../../src/density/topics-table.ts';
import { watchTable } from '../../src/density/watch-table.ts';
import { askGoldenBatchJob, recoverGoldenRunsJob, runGoldenSetJob } from '../../src/golden/golden-jobs.ts';
import { statisticsOfCommands as statistics } from '../../src/golden/golden-statistics.ts';
import { newRunId } from '../../src/golden/runs/run-golden-set.ts';
import { createGoldenBaselines } from '../../src/golden/sql/golden-baselines.ts';
import { createGoldenBatches } from '../../src/golden/sql/golden-batches.ts';
import { createGoldenRotations } from '../../src/golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../../src/golden/sql/golden-runs.ts';
import { createGoldenDocuments, createGoldenSets } from '../../src/golden/sql/golden-sets.ts';
import { createGoldenTicks } from '../../src/golden/sql/golden-ticks.ts';
import type { WatchedPipeline } from '../../src/golden/watched-pipeline.ts';
import { diagnoseAlarmsJob } from '../../src/incidents/diagnosis/diagnose-job.ts';
import { createIncidents } from '../../src/incidents/diagnosis/incidents.ts';
import { canariesTable } from '../../src/index/probes/probes.ts';
import { createDocumentsTable } from '../../src/index/truth/documents-table.ts';
import { createRoundsTable } from '../../src/index/truth/rounds-table.ts';
import { createConfiguredParts } from '../../src/live/deployments/configured-parts.ts';
import { createDeployments } from '../../src/live/deployments/deployments.ts';
import { createLiveSamples } from '../../src/live/sql/live-samples.ts';
import { createLiveTraffic } from '../../src/live/sql/live-traffic.ts';
import { createLiveWindows } from '../../src/live/sql/live-windows.ts';
import { createMeasurements } from '../../src/measures/measurements.ts';
import { createAuditLog } from '../../src/platform/access/audit-log.ts';
import { createConsoleSessions } from '../../src/platform/access/credentials.ts';
import type { BackendSettings } from '../../src/platform/queue/backends.ts';
import { openJobQueue } from '../../src/platform/queue/bullmq.ts';
import { createJobRunner, type JobQueue } from '../../src/platform/queue/job-queue.ts';
import { aWatchedPipeline } from './builders.ts';
import { openHttpRetriever } from './connectors.ts';
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
  const retriever = openHttpRetriever(retrieverUrl, { timeout_ms: 2000 });
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
  const canaries = canariesTable(pool);
  const documents = createGoldenDocuments(pool);
  const samples = createLiveSamples(pool);
  const baselines = createGoldenBaselines(pool);
  const deps: JobDeps = {
    auditLog: createAuditLog(pool),
    auditRetentionDays: 730,
    followWithShadows: async () => undefined,
    indexPlans: [],
    indexTruth: {
      indexDocuments: createDocumentsTable(pool),
      indexRounds: createRoundsTable(pool),
      measurements,
      limits: createThrottleLimits(pool),
      clock,
      logger,
    },
    sets,
    runs,
    rotations,
    documents: createGoldenDocuments(pool),
    deployments,
    batches: createGoldenBatches(pool),
    limits: createThrottleLimits(pool),
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
    consoleSessions: createConsoleSessions(pool),
    retentionDays: async () => new Map(),
    forgetEndedParts: async () => undefined,
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
    requestNotifications: async () => undefined,
    diagnose: {
      sets,
      runs,
      baselines,
      measurements,
      checkStore: createCheckStore(pool),
      pipelines: [pipeline],
      deployments,
      densityStates: watchTable(pool),
      parts: createConfiguredParts(pool),
      topics: topicsTable(pool),
      incidents: createIncidents(pool),
      densityPlans: [],
      intervalSeconds: () => null,
      ownLag: null,
      windows: createLiveWindows(pool),
      clock,
      logger,
    },
    // Only the jobs of golden runs are worked on.
    density: { plans: [] } as unknown as JobDeps['density'],
    measureFeedback: {} as unknown as JobDeps['measureFeedback'],
    judging: {} as unknown as JobDeps['judging'],
    judgingPlans: [],
    experiments: {} as unknown as JobDeps['experiments'],
    notifications: {} as unknown as JobDeps['notifications'],
    watchChanges: {} as unknown as JobDeps['watchChanges'],
    checkStore: createCheckStore(pool),
    evaluateChecks: async () => undefined,
    snapshots: {} as unknown as JobDeps['snapshots'],
    goldenUpkeep: { sets, runs, measurements, clock, logger, samples, documents },
    lookAt: async () => undefined,
    findPipeline: (name) => (name === pipeline.name ? pipeline : null),
  };
  const shutdown = new AbortController();
  await queue.work(
    createJobRunner({
      jobs: jobCatalogue,
      jobDeps: deps,
      clock,
      logger,
      meter: new MemoryMeter(),
      shutdown: shutdown.signal,
    }),
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
