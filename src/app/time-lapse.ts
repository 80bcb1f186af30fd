/**
 * The daemon on a clock that its caller turns, in this process: its jobs start when the caller says, in place of when
 * their schedule would, and its pages are served meanwhile. Everything else is as in a daemon.
 */
import { createCleanupStack } from '../core/cleanup-stack.ts';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Clock } from '../core/time.ts';
import { runGoldenSetJob } from '../golden/golden-jobs.ts';
import { tickFullRun } from '../golden/runs/tick-golden-set.ts';
import { type ImportReport, importGoldenQueries } from '../golden/sets/import-golden-set.ts';
import { readAlarms } from '../incidents/diagnosis/diagnose-pipeline.ts';
import type { Alarm } from '../incidents/diagnosis/rules/incident.ts';
import { checkIndexJob } from '../index/truth/check-index.ts';
import { createLiveIngest } from '../live/live-ingest.ts';
import type { Feedback, LiveQuery } from '../live/rules/live-query.ts';
import { watchEventLoop } from '../platform/metrics/prometheus.ts';
import { createJobRunner, type JobQueue } from '../platform/queue/job-queue.ts';
import { COMMAND_NAME, type CommandSettings } from './commands/command-store.ts';
import { type Dependencies, openDependencies } from './dependencies.ts';
import { withHooks } from './hooks.ts';
import { startHttp } from './http-surface.ts';
import { jobCatalogue } from './jobs.ts';

export interface TimeLapse
  extends Pick<Dependencies, 'densityStates' | 'incidents' | 'measurements' | 'reviews' | 'runs' | 'topics'> {
  /** Where the console, the API and /metrics answer. */
  readonly url: string;
  /** A new version of a golden set; `values` are as the lines of a JSONL file. */
  importGolden(set: string, values: readonly unknown[]): Promise<ImportReport>;
  ingestQueries(queries: readonly LiveQuery[]): Promise<unknown>;
  ingestFeedback(feedback: readonly Feedback[]): Promise<unknown>;
  /** A tick of the cron of all golden sets: their runs begin with the next `run`, beside its jobs. */
  tickGoldenSets(plannedAt: Date): Promise<void>;
  /** Runs jobs of the catalogue side by side, and those that they call for. @throws RecalldError demo_failed */
  run(...names: JobName[]): Promise<void>;
  /** A round over the index of each pipeline that has a manifest. @throws RecalldError demo_failed */
  checkIndexes(): Promise<void>;
  /** What is in alarm on a pipeline now, critical ones first. */
  alarms(pipeline: string): Promise<readonly Alarm[]>;
}

type JobName =
  | 'keep-partitions'
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
  | 'diagnose-alarms'
  | 'send-notifications';

/**
 * Opens the database of the config for the length of `work`; no daemon may run on it, because the jobs of that would
 * go by another clock.
 *
 * @param onFailedJob hears of each job that failed; left out, a failure is thrown to whoever called for the job
 * @throws RecalldError as openDependencies, port_in_use, and what `work` throws
 */
export async function withTimeLapse<T>(
  { config, logger, signal }: CommandSettings,
  clock: Clock,
  work: (lapse: TimeLapse) => Promise<T>,
  onFailedJob: (name: string) => void = refuseFailedJob,
): Promise<T> {
  const cleanups = createCleanupStack(logger);
  try {
    const quiet = withoutPages(logger);
    const settings = { config, name: COMMAND_NAME, logger: quiet, cleanups, signal, clock };
    const opened = await openDependencies(settings);
    const inHand = createQueueInHand(opened.queue);
    const dependencies: Dependencies = withHooks({ ...opened, queue: inHand.queue });
    const { exporter, pipelines, hashKey, db } = dependencies;
    const { meter } = exporter;
    const runJob = createJobRunner({
      jobs: jobCatalogue,
      jobDeps: dependencies,
      clock,
      logger,
      meter,
      shutdown: signal,
    });
    const ingest = await createLiveIngest({
      config,
      traffic: db.live.traffic,
      clock,
      meter,
      logger,
      hashKey,
      cleanups,
    });
    const face = await startHttp(dependencies, true, { trouble: () => null }, cleanups);
    face.markReady();
    let isAtWork = false;
    // Between jobs the caller does what a daemon never does.
    const stopWatching = watchEventLoop(meter, (seconds) => {
      if (isAtWork) dependencies.ownLag.record(seconds, 0);
    });
    cleanups.defer('event loop watch', async () => stopWatching());
    const workOff = async (): Promise<void> => {
      isAtWork = true;
      try {
        await inHand.workOff(async (name, payload, id) => {
          if ((await runJob(name, payload, id)) === 'done') return;
          signal.throwIfAborted();
          onFailedJob(name);
        });
      } finally {
        isAtWork = false;
      }
    };
    return await work({
      ...dependencies,
      url: face.url,
      importGolden: (set, values) => importGoldenQueries(db.golden.sets, set, [values], clock.now()),
      ingestQueries: ingest.ingestQueries,
      ingestFeedback: ingest.ingestFeedback,
      async tickGoldenSets(plannedAt) {
        for (const pipeline of pipelines) {
          for (const golden of pipeline.golden) {
            for (const id of await tickFullRun(dependencies, pipeline, golden, plannedAt))
              await inHand.queue.enqueue(runGoldenSetJob.name, { run_id: id }, id);
          }
        }
      },
      async run(...names) {
        for (const name of names) {
          const job = jobCatalogue.find((one) => one.name === name);
          if (job === undefined) throw new RecalldError('demo_failed', `There is no job ${name}.`);
          await inHand.queue.enqueue(job.name, {}, job.name);
        }
        await workOff();
      },
      async checkIndexes() {
        for (const { pipeline } of dependencies.indexPlans)
          await inHand.queue.enqueue(checkIndexJob.name, { pipeline }, `${checkIndexJob.name}-${pipeline}`);
        await workOff();
      },
      async alarms(pipeline) {
        const watched = pipelines.filter(({ name }) => name === pipeline);
        return (await Promise.all(watched.map((one) => readAlarms(dependencies, one)))).flat();
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

/** A queue whose jobs wait for its owner, who works on all that wait side by side, and then on what they called for. */
function createQueueInHand(queue: JobQueue) {
  const waiting: Job[] = [];
  return {
    queue: { ...queue, enqueue: async (...job: Job) => void waiting.push(job) },
    async workOff(work: (...job: Job) => Promise<void>): Promise<void> {
      while (waiting.length > 0) {
        const ends = await Promise.allSettled(waiting.splice(0).map((job) => work(...job)));
        // Whoever hears of a failure closes the database, so none of the others may still be at work.
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }
    },
  };
}

/** A page is an error in the log of a daemon; here the caller tells of it. */
function withoutPages(logger: Logger): Logger {
  return {
    ...logger,
    error: (message, fields) => {
      if (fields?.['event'] !== 'page') logger.error(message, fields);
    },
  };
}
