/** The scheduler starts golden runs, sentinels and scheduled jobs. Several schedulers may run at the same time. */

import { evaluateChecksJob } from '../checks/evaluate-checks.ts';
import type { Context } from '../core/context.ts';
import { messageOf, RecalldError } from '../core/errors.ts';
import { densityJobs } from '../density/jobs.ts';
import { experimentJobs } from '../experiments/jobs.ts';
import { goldenJobs, recoverGoldenRunsJob, runGoldenSetJob } from '../golden/golden-jobs.ts';
import { tickGoldenSet } from '../golden/runs/tick-golden-set.ts';
import type { Timetable } from '../golden/timetable.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { diagnosisJobs } from '../incidents/diagnosis/diagnose-job.ts';
import { sendNotificationsJob } from '../incidents/notifications/notify.ts';
import { probeJobs } from '../index/probes/probe-jobs.ts';
import { checkIndexJob, indexJobs } from '../index/truth/check-index.ts';
import { judgingJobs } from '../judging/judging-jobs.ts';
import { liveJobs } from '../live/live-jobs.ts';
import { type Cron, latestOccurrence } from '../math/schedule/occurrences.ts';
import type { IntervalOf } from '../measures/rules/measurement.ts';
import { watchChangesJob } from '../measures/watch-changes.ts';
import type { JobDefinition, JobQueue } from '../platform/queue/job-queue.ts';
import type { Schedule } from '../platform/queue/node-cron.ts';
import { exportJob } from '../report/export/export-job.ts';
import type { ClockWatch } from './clock-watch.ts';

export const jobCatalogue: readonly JobDefinition<Context>[] = [
  ...goldenJobs,
  ...liveJobs,
  ...probeJobs,
  ...densityJobs,
  ...judgingJobs,
  ...experimentJobs,
  ...indexJobs,
  ...diagnosisJobs,
  sendNotificationsJob,
  exportJob,
  watchChangesJob,
  evaluateChecksJob,
];

/** Starts the ticks. If no process has run the latest tick of a golden set, that tick runs now, and only once. */
export function startScheduler(context: Context & TickContext) {
  const { queue, pipelines, indexPlans, config } = context;
  return startTicks(context, [
    ...jobCatalogue.filter((job) => job !== recoverGoldenRunsJob).flatMap((job) => ticksOfJob(queue, job)),
    ...indexPlans.map(({ pipeline, cron }) =>
      tickOfJob(
        queue,
        checkIndexJob,
        cron,
        `index check of ${pipeline}`,
        { pipeline },
        `${checkIndexJob.name}-${pipeline}`,
      ),
    ),
    ...(config.export === undefined
      ? []
      : [tickOfJob(queue, exportJob, inUtc(config.export.cron), `export to ${config.export.to}`)]),
    ...pipelines.flatMap((pipeline) =>
      pipeline.golden.flatMap((golden) => [
        ...ticksOfSet(queue, golden.cron, `golden run of ${golden.set} on ${pipeline.name}`, (plannedAt) =>
          tickGoldenSet(context, pipeline, golden, 'full', plannedAt),
        ),
        ...ticksOfSet(
          queue,
          golden.sentinel?.cron ?? null,
          `sentinel of ${golden.set} on ${pipeline.name}`,
          (plannedAt) => tickGoldenSet(context, pipeline, golden, 'sentinel', plannedAt),
        ),
      ]),
    ),
  ]);
}

/**
 * Returns the ticks of a job; an empty list if the job has no schedule. Every scheduler enqueues the same job id for
 * the same tick.
 */
export function ticksOfJob(queue: JobQueue, job: JobDefinition<Context>): Ticked[] {
  const { cron } = job;
  return cron === null ? [] : [{ ...tickOfJob(queue, job, inUtc(cron), `tick of ${job.name}`), madeUpFor: false }];
}

function inUtc(expression: string): Cron {
  return { expression, timezone: 'UTC' };
}

/** @param id prefix of the job ids of the ticks */
function tickOfJob(
  queue: JobQueue,
  job: { readonly name: string },
  cron: Cron,
  what: string,
  payload = {},
  id = job.name,
): Ticked {
  const begin = (plannedAt: Date) => () => queue.enqueue(job.name, payload, tickId(id, plannedAt));
  return { cron, what, job: job.name, madeUpFor: true, begin };
}

/**
 * Returns the ticks of a golden set. Each tick starts runs and enqueues one job per run. If a job cannot be enqueued,
 * the recovery job finds its run.
 */
function ticksOfSet(
  queue: JobQueue,
  cron: Cron | null,
  what: string,
  start: (plannedAt: Date) => Promise<readonly string[]>,
): Ticked[] {
  if (cron === null) return [];
  const begin = (plannedAt: Date): (() => Promise<void>) => {
    let started: readonly string[] | null = null;
    return async () => {
      started ??= await start(plannedAt);
      for (const runId of started) await queue.enqueue(runGoldenSetJob.name, { run_id: runId }, runId);
    };
  };
  return [{ cron, what, job: runGoldenSetJob.name, madeUpFor: true, begin }];
}

/** Returns an id that is the same on every replica. The id contains no colon, because BullMQ forbids colons. */
function tickId(job: string, plannedAt: Date): string {
  return `${job}-${plannedAt.toISOString().replaceAll(':', '')}`;
}

export interface TickContext extends Pick<Context, 'clock' | 'logger' | 'meter'> {
  readonly schedule: Schedule;
  readonly clockWatch: ClockWatch;
}

export interface Ticked {
  readonly cron: Cron;
  /** Name in the log. */
  readonly what: string;
  readonly job: string;
  /** True if a missed latest tick runs at the next startup, or as soon as a wrong clock is correct again. */
  readonly madeUpFor: boolean;
  /** Begins a tick. Returns a function that stores the tick and, if called again, continues where it failed. */
  readonly begin: (plannedAt: Date) => () => Promise<void>;
}

const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;

export type Ticks = ReturnType<typeof startTicks>;

export function startTicks(deps: TickContext, all: readonly Ticked[]) {
  const { schedule, clock, clockWatch, meter } = deps;
  const tickers = all.map((ticked) => ({ ...ticked, ...createTicker(deps, ticked) }));
  for (const { cron, job, tick } of tickers) {
    meter.increment('recalld_ticks_given_up_total', { task: job }, 0);
    schedule.every(cron, tick);
  }
  const makeUp = (): void => {
    for (const { cron, madeUpFor, tick } of tickers) if (madeUpFor) tick(latestOccurrence(cron, clock.now()));
  };
  makeUp();
  clockWatch.whenRightAgain(makeUp);
  return {
    /** Stops all ticks and retries. Resolves when the ticks in progress have been stored. */
    async stop(): Promise<void> {
      await schedule.stop();
      await Promise.all(tickers.map((ticker) => ticker.stop()));
    },
  };
}

function createTicker({ clock, clockWatch, logger, meter }: TickContext, { what, job, begin }: Ticked) {
  let newer = new AbortController();
  let running = Promise.resolve();

  const store = async (plannedAt: Date, signal: AbortSignal): Promise<void> => {
    const attempt = begin(plannedAt);
    const fields = { what, planned_at: plannedAt.toISOString() };
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
      // If a fast clock started the tick too early, the tick's planned time is in the future once the clock is correct.
      if (!(await clockWatch.isRight()) || plannedAt > clock.now()) return;
      try {
        await attempt();
        if (waitMs > FIRST_WAIT_MS) logger.info('a scheduled start succeeded after retries', fields);
        return;
      } catch (error) {
        const reason = messageOf(error);
        if (error instanceof RecalldError && !error.retryable) {
          logger.error('a scheduled start failed', { what, reason });
          return;
        }
        if (waitMs === FIRST_WAIT_MS)
          logger.warn('a scheduled start failed and will be retried until the next scheduled time', {
            ...fields,
            reason,
          });
      }
      await clock.sleep(waitMs, signal).catch(() => undefined);
    }
    if (!(signal.reason instanceof Date && signal.reason > plannedAt)) return;
    logger.error('a scheduled start was abandoned at the next scheduled time', fields);
    meter.increment('recalld_ticks_given_up_total', { task: job });
  };

  return {
    tick: (plannedAt: Date): void => {
      newer.abort(plannedAt);
      newer = new AbortController();
      const { signal } = newer;
      running = running.then(() => store(plannedAt, signal));
    },
    stop(): Promise<void> {
      newer.abort(new Error('the daemon stops'));
      return running;
    },
  };
}

/**
 * Returns a function that looks up the longest interval, in seconds, between consecutive scheduled runs of a set. The
 * function returns null for a set without a schedule.
 */
export function intervalsOf(pipelines: readonly WatchedPipeline[], timetable: Timetable): IntervalOf {
  const intervals = new Map(
    pipelines.flatMap(({ name, golden }) =>
      golden.map((one) => [`${name} ${one.set}`, timetable.intervalSeconds(one)] as const),
    ),
  );
  return (pipeline, set) => intervals.get(`${pipeline} ${set}`) ?? null;
}
