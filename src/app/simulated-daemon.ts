/** A daemon whose caller sets the clock and starts the jobs. Everything else works as in a real daemon. */
import { type CleanupStack, createCleanupStack } from '../core/cleanup-stack.ts';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Clock } from '../core/time.ts';
import { runGoldenSetJob } from '../golden/golden-jobs.ts';
import { tickGoldenSet } from '../golden/runs/tick-golden-set.ts';
import { importGoldenQueries } from '../golden/sets/import-golden-set.ts';
import { readAlerts } from '../incidents/diagnosis/diagnose-pipeline.ts';
import type { Alert } from '../incidents/diagnosis/rules/incident.ts';
import { checkIndexJob } from '../index/truth/check-index.ts';
import { createLiveIngest } from '../live/live-ingest.ts';
import { watchEventLoop } from '../platform/metrics/prometheus.ts';
import { createJobRunner, type JobQueue } from '../platform/queue/job-queue.ts';
import { COMMAND_NAME, type CommandSettings } from './commands/command-store.ts';
import { type Daemon, openDependencies } from './dependencies.ts';
import { withHooks } from './hooks.ts';
import { startHttp } from './http-surface.ts';
import { jobCatalogue } from './jobs.ts';

export type SimulatedDaemon = Awaited<ReturnType<typeof openSimulatedDaemon>>;

/**
 * Runs the daemon until `work` ends. No other daemon may use the same database, because the simulated jobs follow a
 * different clock.
 *
 * @param onFailedJob called for each failed job; by default, `run` throws
 * @throws RecalldError port_in_use, demo_failed, and the errors of openDependencies and `work`
 */
export async function withSimulatedDaemon<T>(
  settings: CommandSettings,
  clock: Clock,
  work: (daemon: SimulatedDaemon) => Promise<T>,
  onFailedJob: (name: string) => void = refuseFailedJob,
): Promise<T> {
  const cleanups = createCleanupStack(settings.logger);
  try {
    return await work(await openSimulatedDaemon(settings, clock, cleanups, onFailedJob));
  } finally {
    await cleanups.run();
  }
}

async function openSimulatedDaemon(
  { config, logger, signal }: CommandSettings,
  clock: Clock,
  cleanups: CleanupStack,
  onFailedJob: (name: string) => void,
) {
  const quiet = withoutPages(logger);
  const opened = await openDependencies({ config, name: COMMAND_NAME, logger: quiet, cleanups, signal, clock });
  const manual = createManualQueue(opened.queue);
  const daemon: Daemon = withHooks({ ...opened, queue: manual.queue });
  const { exporter, pipelines, db } = daemon;
  const { meter } = exporter;
  const runJob = createJobRunner({ jobs: jobCatalogue, jobDeps: daemon, clock, logger, meter, shutdown: signal });
  const ingest = await createLiveIngest(daemon, cleanups);
  const http = await startHttp(daemon, true, () => null, cleanups);
  http.markReady();
  let isRunningJobs = false;
  // Ignores delays between jobs, because the caller causes them, not the daemon.
  const stopWatching = watchEventLoop(meter, (seconds) => {
    if (isRunningJobs) daemon.ownLag.record(seconds, 0);
  });
  cleanups.defer('event loop watch', async () => stopWatching());
  const runQueuedJobs = async (): Promise<void> => {
    isRunningJobs = true;
    try {
      await manual.runAll(async (name, payload, id) => {
        if ((await runJob(name, payload, id)) === 'done') return;
        signal.throwIfAborted();
        onFailedJob(name);
      });
    } finally {
      isRunningJobs = false;
    }
  };
  return {
    db,
    /** Base URL for the console, the API and /metrics. */
    url: http.url,
    /** Imports a new version of a golden set. `values` are the parsed lines of a JSONL file. */
    importGolden: (set: string, values: readonly unknown[]) =>
      importGoldenQueries(db.golden.sets, set, [values], clock.now()),
    ingestQueries: ingest.ingestQueries,
    ingestFeedback: ingest.ingestFeedback,
    /**
     * Schedules a golden run of every set. The next call to `run` starts these golden runs in parallel with its jobs.
     */
    async tickGoldenSets(plannedAt: Date): Promise<void> {
      for (const pipeline of pipelines) {
        for (const golden of pipeline.golden) {
          for (const id of await tickGoldenSet(daemon, pipeline, golden, 'full', plannedAt))
            await manual.queue.enqueue(runGoldenSetJob.name, { run_id: id }, id);
        }
      }
    },
    /** Runs the named jobs in parallel, and then any jobs that they enqueued. @throws RecalldError demo_failed */
    async run(...names: string[]): Promise<void> {
      for (const name of names) {
        const job = jobCatalogue.find((one) => one.name === name);
        if (job === undefined) throw new RecalldError('demo_failed', `The job ${name} does not exist.`);
        await manual.queue.enqueue(job.name, {}, job.name);
      }
      await runQueuedJobs();
    },
    /** Checks the index of each pipeline that has a manifest. @throws RecalldError demo_failed */
    async checkIndexes(): Promise<void> {
      for (const { pipeline } of daemon.indexPlans)
        await manual.queue.enqueue(checkIndexJob.name, { pipeline }, `${checkIndexJob.name}-${pipeline}`);
      await runQueuedJobs();
    },
    /** Returns the firing alerts of a pipeline, critical alerts first. */
    async alerts(pipeline: string): Promise<readonly Alert[]> {
      const watched = pipelines.filter(({ name }) => name === pipeline);
      return (await Promise.all(watched.map((one) => readAlerts(daemon, one)))).flat();
    },
  };
}

function refuseFailedJob(name: string): never {
  throw new RecalldError('demo_failed', `The job ${name} failed.`);
}

type Job = readonly [name: string, payload: Readonly<Record<string, unknown>>, id: string];

/**
 * Creates a queue whose jobs wait for `runAll`, which runs them in parallel and then runs any jobs that they enqueued.
 */
function createManualQueue(queue: JobQueue) {
  const waiting: Job[] = [];
  return {
    queue: { ...queue, enqueue: async (...job: Job) => void waiting.push(job) },
    async runAll(work: (...job: Job) => Promise<void>): Promise<void> {
      while (waiting.length > 0) {
        const ends = await Promise.allSettled(waiting.splice(0).map((job) => work(...job)));
        // Waits for every job before it reports a failure, because the caller then closes the database.
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }
    },
  };
}

/** Drops the error that a daemon logs when density drift triggers a page, because the caller reports pages itself. */
function withoutPages(logger: Logger): Logger {
  return {
    ...logger,
    error: (message, fields) => {
      if (fields?.['event'] !== 'page') logger.error(message, fields);
    },
  };
}
