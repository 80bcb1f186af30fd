/**
 * An in-process daemon whose caller sets the clock and starts the jobs, which have no schedule. The daemon's pages and
 * API are served meanwhile. Everything else works as in a real daemon.
 */
import { createCleanupStack } from '../core/cleanup-stack.ts';
import type { Db } from '../core/context.ts';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Clock } from '../core/time.ts';
import { runGoldenSetJob } from '../golden/golden-jobs.ts';
import { tickFullRun } from '../golden/runs/tick-golden-set.ts';
import { type ImportReport, importGoldenQueries } from '../golden/sets/import-golden-set.ts';
import { readAlerts } from '../incidents/diagnosis/diagnose-pipeline.ts';
import type { Alert } from '../incidents/diagnosis/rules/incident.ts';
import { checkIndexJob } from '../index/truth/check-index.ts';
import { createLiveIngest } from '../live/live-ingest.ts';
import type { Feedback, LiveQuery } from '../live/rules/live-query.ts';
import { watchEventLoop } from '../platform/metrics/prometheus.ts';
import { createJobRunner, type JobQueue } from '../platform/queue/job-queue.ts';
import { COMMAND_NAME, type CommandSettings } from './commands/command-store.ts';
import { type Daemon, openDependencies } from './dependencies.ts';
import { withHooks } from './hooks.ts';
import { startHttp } from './http-surface.ts';
import { jobCatalogue } from './jobs.ts';

export interface SimulatedDaemon {
  readonly db: Db;
  /** Base URL for the console, the API and /metrics. */
  readonly url: string;
  /** Imports a new version of a golden set. `values` are the parsed lines of a JSONL file. */
  importGolden(set: string, values: readonly unknown[]): Promise<ImportReport>;
  ingestQueries(queries: readonly LiveQuery[]): Promise<unknown>;
  ingestFeedback(feedback: readonly Feedback[]): Promise<unknown>;
  /** Schedules one run of every golden set. These runs start with the next call of `run`, in parallel with its jobs. */
  tickGoldenSets(plannedAt: Date): Promise<void>;
  /** Runs jobs in parallel, then the jobs that they enqueued. @throws RecalldError demo_failed */
  run(...names: JobName[]): Promise<void>;
  /** Checks the index of each pipeline that has a manifest. @throws RecalldError demo_failed */
  checkIndexes(): Promise<void>;
  /** Alerts that are firing for a pipeline, critical alerts first. */
  alerts(pipeline: string): Promise<readonly Alert[]>;
}

type JobName =
  | 'maintain-partitions'
  | 'measure-query-coverage'
  | 'evaluate-density'
  | 'find-uncovered-topics'
  | 'measure-live-traffic'
  | 'probe-stores'
  | 'probe-embedders'
  | 'measure-ann-recall'
  | 'snapshot-stores'
  | 'judge-live-traffic'
  | 'watch-measures'
  | 'record-golden-documents'
  | 'measure-golden-representativeness'
  | 'evaluate-checks'
  | 'diagnose-alerts'
  | 'send-notifications';

/**
 * Opens the configured database until `work` ends. No other daemon may use that database, because its jobs would follow
 * another clock.
 *
 * @param onFailedJob called for each failed job; without it, `run` throws
 * @throws RecalldError like openDependencies, port_in_use, and errors from `work`
 */
export async function withSimulatedDaemon<T>(
  { config, logger, signal }: CommandSettings,
  clock: Clock,
  work: (daemon: SimulatedDaemon) => Promise<T>,
  onFailedJob: (name: string) => void = refuseFailedJob,
): Promise<T> {
  const cleanups = createCleanupStack(logger);
  try {
    const quiet = withoutPages(logger);
    const settings = { config, name: COMMAND_NAME, logger: quiet, cleanups, signal, clock };
    const opened = await openDependencies(settings);
    const manual = createManualQueue(opened.queue);
    const daemon: Daemon = withHooks({ ...opened, queue: manual.queue });
    const { exporter, pipelines, db } = daemon;
    const { meter } = exporter;
    const runJob = createJobRunner({
      jobs: jobCatalogue,
      jobDeps: daemon,
      clock,
      logger,
      meter,
      shutdown: signal,
    });
    const ingest = await createLiveIngest(daemon, cleanups);
    const http = await startHttp(daemon, true, () => null, cleanups);
    http.markReady();
    let isRunningJobs = false;
    // Delays that the caller causes between jobs are not event loop delays of the daemon.
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
    return await work({
      db,
      url: http.url,
      importGolden: (set, values) => importGoldenQueries(db.golden.sets, set, [values], clock.now()),
      ingestQueries: ingest.ingestQueries,
      ingestFeedback: ingest.ingestFeedback,
      async tickGoldenSets(plannedAt) {
        for (const pipeline of pipelines) {
          for (const golden of pipeline.golden) {
            for (const id of await tickFullRun(daemon, pipeline, golden, plannedAt))
              await manual.queue.enqueue(runGoldenSetJob.name, { run_id: id }, id);
          }
        }
      },
      async run(...names) {
        for (const name of names) {
          const job = jobCatalogue.find((one) => one.name === name);
          if (job === undefined) throw new RecalldError('demo_failed', `The job ${name} does not exist.`);
          await manual.queue.enqueue(job.name, {}, job.name);
        }
        await runQueuedJobs();
      },
      async checkIndexes() {
        for (const { pipeline } of daemon.indexPlans)
          await manual.queue.enqueue(checkIndexJob.name, { pipeline }, `${checkIndexJob.name}-${pipeline}`);
        await runQueuedJobs();
      },
      async alerts(pipeline) {
        const watched = pipelines.filter(({ name }) => name === pipeline);
        return (await Promise.all(watched.map((one) => readAlerts(daemon, one)))).flat();
      },
    });
  } finally {
    await cleanups.run();
  }
}

function refuseFailedJob(name: string): never {
  throw new RecalldError('demo_failed', `The job ${name} failed.`);
}

type Job = readonly [name: string, payload: Readonly<Record<string, unknown>>, id: string];

/**
 * A queue whose jobs wait until `runAll` runs them in parallel, then the jobs that they enqueued, until the queue is
 * empty.
 */
function createManualQueue(queue: JobQueue) {
  const waiting: Job[] = [];
  return {
    queue: { ...queue, enqueue: async (...job: Job) => void waiting.push(job) },
    async runAll(work: (...job: Job) => Promise<void>): Promise<void> {
      while (waiting.length > 0) {
        const ends = await Promise.allSettled(waiting.splice(0).map((job) => work(...job)));
        // The caller closes the database after a failure, so every job must have ended before a failure is reported.
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }
    },
  };
}

/** Drops the error that a daemon logs for each page, because the caller reports pages itself. */
function withoutPages(logger: Logger): Logger {
  return {
    ...logger,
    error: (message, fields) => {
      if (fields?.['event'] !== 'page') logger.error(message, fields);
    },
  };
}
