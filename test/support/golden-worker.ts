/**
 * A worker for golden runs, with a real database and a real queue. It runs in the test's process, or in a separate
 * process that a test can kill. Started with one argument, GoldenWorkerSettings as JSON, it prints `ready` on stdout
 * and continues.
 */

import { pathToFileURL } from 'node:url';
import { Pool, type PoolConfig } from 'pg';
import { createDb } from '../../src/app/database.ts';
import { jobCatalogue } from '../../src/app/jobs.ts';
import type { Context } from '../../src/core/context.ts';
import { systemClock } from '../../src/core/system-clock.ts';
import { askGoldenBatchJob, recoverGoldenRunsJob, runGoldenSetJob } from '../../src/golden/golden-jobs.ts';
import { statisticsOfCommands as statistics } from '../../src/golden/golden-statistics.ts';
import { newRunId } from '../../src/golden/runs/run-golden-set.ts';
import type { WatchedPipeline } from '../../src/golden/watched-pipeline.ts';
import { diagnoseAlertsJob } from '../../src/incidents/diagnosis/diagnose-job.ts';
import type { BackendSettings } from '../../src/platform/queue/backends.ts';
import { openJobQueue } from '../../src/platform/queue/bullmq.ts';
import { createJobRunner, type JobQueue } from '../../src/platform/queue/job-queue.ts';
import { aWatchedPipeline } from './builders.ts';
import { openHttpRetriever } from './connectors.ts';
import { contextOf } from './context.ts';
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
  readonly deps: Context;
  stop(): Promise<void>;
}

export const goldenJobs = [runGoldenSetJob, askGoldenBatchJob, recoverGoldenRunsJob, diagnoseAlertsJob];

/** Returns a pipeline `docs` with a real service; `parts` overrides its other properties. */
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
  const meter = new MemoryMeter();
  let resumed = 0;
  const deps = contextOf({
    db: createDb(pool),
    queue,
    clock,
    logger,
    meter,
    statistics,
    holder,
    newRunId,
    pipelines: [pipeline],
    // Only the jobs of golden runs are processed.
    hooks: {
      resume(run) {
        const round = `resumed-${holder}-${(resumed += 1)}`;
        return queue.enqueue(runGoldenSetJob.name, { run_id: run.id, round }, `${run.id}-${round}`);
      },
      evaluateChecks: async () => undefined,
      followWithShadows: async () => undefined,
      diagnose: async () => undefined,
    },
  });
  const shutdown = new AbortController();
  await queue.work(
    createJobRunner({
      jobs: jobCatalogue,
      jobDeps: deps,
      clock,
      logger,
      meter,
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
