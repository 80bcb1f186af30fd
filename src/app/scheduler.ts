/** Ticks: golden sets and their sentinels by their cron, and the jobs that start by themselves. Any number of these may run. */

import { recoverGoldenRunsJob, runGoldenSetJob } from '../golden/golden-jobs.ts';
import { type TickDeps, tickFullRun, tickSentinel } from '../golden/runs/tick-golden-set.ts';
import type { Cron, WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { JobDefinition } from '../queue/job-definition.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import type { Schedule } from '../queue/schedule.ts';
import { messageOf } from '../text/error-message.ts';
import { jobCatalogue } from './job-catalogue.ts';

export interface SchedulerDeps extends TickDeps {
  readonly schedule: Schedule;
  readonly queue: JobQueue;
  readonly pipelines: readonly WatchedPipeline[];
}

export interface Scheduler {
  /** No tick starts after this, and what the last ones began has ended. */
  stop(): Promise<void>;
}

/**
 * Starts to tick, and makes up for the latest tick of each golden set when nobody ran it: a daemon that was down
 * over the hour measures at once, and never more than once.
 */
export async function startScheduler(deps: SchedulerDeps): Promise<Scheduler> {
  const underWay = new Set<Promise<void>>();
  const settle: Settle = (attempt) => {
    underWay.add(attempt);
    void attempt.finally(() => underWay.delete(attempt));
  };
  for (const job of jobCatalogue) if (job !== recoverGoldenRunsJob) tickJob(deps, job);
  for (const pipeline of deps.pipelines) {
    for (const golden of pipeline.golden) {
      await follow(
        deps,
        settle,
        golden.cron,
        `golden run of ${golden.set} on ${pipeline.name}`,
        (plannedAt) => tickFullRun(deps, pipeline, golden, plannedAt),
      );
      const sentinel = golden.sentinel?.cron ?? null;
      await follow(deps, settle, sentinel, `sentinel of ${golden.set} on ${pipeline.name}`, (plannedAt) =>
        tickSentinel(deps, pipeline, golden, plannedAt),
      );
    }
  }
  return {
    async stop() {
      await deps.schedule.stop();
      await Promise.all(underWay);
    },
  };
}

/** Ticks a job that starts by itself, if it is one; every process that ticks it makes the same job of a tick. */
export function tickJob(
  deps: Pick<SchedulerDeps, 'schedule' | 'queue' | 'logger'>,
  job: Pick<JobDefinition<never>, 'name' | 'cron'>,
): void {
  if (job.cron === null) return;
  deps.schedule.every(job.cron, 'UTC', (plannedAt) => {
    void attempt(deps, `tick of ${job.name}`, () =>
      deps.queue.enqueue(job.name, {}, tickId(job.name, plannedAt)),
    );
  });
}

/** Takes an attempt that a stop shall wait for, so that no run is left without its job. */
type Settle = (attempt: Promise<void>) => void;

/** Ticks from now on, and at once for the latest planned time. */
async function follow(
  deps: SchedulerDeps,
  settle: Settle,
  cron: Cron | null,
  what: string,
  start: (plannedAt: Date) => Promise<readonly string[]>,
): Promise<void> {
  if (cron === null) return;
  const { expression, timezone } = cron;
  const tick = (plannedAt: Date): Promise<void> =>
    attempt(deps, what, async () => {
      for (const runId of await start(plannedAt))
        await deps.queue.enqueue(runGoldenSetJob.name, { run_id: runId }, runId);
    });
  deps.schedule.every(expression, timezone, (plannedAt) => settle(tick(plannedAt)));
  await tick(deps.schedule.previous(expression, timezone, deps.clock.now()));
}

/** A tick that fails is logged; the next one comes all the same, and what did not run is seen by its age. */
async function attempt(
  { logger }: Pick<SchedulerDeps, 'logger'>,
  what: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    logger.error('a scheduled start failed', {
      what,
      reason: messageOf(error),
    });
  }
}

/** Equal on every replica for the same tick; BullMQ takes no colon in an id. */
function tickId(job: string, plannedAt: Date): string {
  return `${job}-${plannedAt.toISOString().replaceAll(':', '')}`;
}
