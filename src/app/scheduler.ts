/** What a scheduler starts: golden sets and their sentinels by their cron, and jobs by theirs. Any number may run. */
import { recoverGoldenRunsJob, runGoldenSetJob } from '../golden/golden-jobs.ts';
import { type TickDeps, tickFullRun, tickSentinel } from '../golden/runs/tick-golden-set.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { checkIndexJob } from '../index-truth/index-jobs.ts';
import type { IndexPlan } from '../index-truth/plan.ts';
import type { JobDefinition, JobQueue } from '../queue/job-queue.ts';
import type { Cron } from '../schedule/occurrences.ts';
import { jobCatalogue } from './job-catalogue.ts';
import { startTicks, type Ticked, type Ticks, type TicksDeps } from './ticks.ts';

export interface SchedulerDeps extends TickDeps, TicksDeps {
  readonly queue: JobQueue;
  readonly pipelines: readonly WatchedPipeline[];
  readonly indexPlans: readonly Pick<IndexPlan, 'pipeline' | 'cron'>[];
}

/**
 * Starts to tick, and makes up for the latest tick of each golden set when nobody ran it: a daemon that was down
 * over the hour measures at once, and never more than once.
 */
export function startScheduler(deps: SchedulerDeps): Ticks {
  const { queue, pipelines, indexPlans } = deps;
  return startTicks(deps, [
    ...jobCatalogue.filter((job) => job !== recoverGoldenRunsJob).flatMap((job) => ticksOfJob(queue, job)),
    ...indexPlans.map((plan) => tickOfIndex(queue, plan)),
    ...pipelines.flatMap((pipeline) =>
      pipeline.golden.flatMap((golden) => [
        ...ticksOfSet(queue, golden.cron, `golden run of ${golden.set} on ${pipeline.name}`, (plannedAt) =>
          tickFullRun(deps, pipeline, golden, plannedAt),
        ),
        ...ticksOfSet(
          queue,
          golden.sentinel?.cron ?? null,
          `sentinel of ${golden.set} on ${pipeline.name}`,
          (plannedAt) => tickSentinel(deps, pipeline, golden, plannedAt),
        ),
      ]),
    ),
  ]);
}

/** The ticks of a job that starts by itself, if it is one; every process that ticks it makes the same job of a tick. */
export function ticksOfJob(
  queue: Pick<JobQueue, 'enqueue'>,
  job: Pick<JobDefinition<never>, 'name' | 'cron'>,
): Ticked[] {
  if (job.cron === null) return [];
  return [
    {
      cron: { expression: job.cron, timezone: 'UTC' },
      what: `tick of ${job.name}`,
      job: job.name,
      madeUpFor: false,
      begin: (plannedAt) => () => queue.enqueue(job.name, {}, tickId(job.name, plannedAt)),
    },
  ];
}

function tickOfIndex(queue: JobQueue, { pipeline, cron }: Pick<IndexPlan, 'pipeline' | 'cron'>): Ticked {
  const { name } = checkIndexJob;
  return {
    cron,
    what: `look into the index of ${pipeline}`,
    job: name,
    madeUpFor: true,
    begin: (plannedAt) => () =>
      queue.enqueue(checkIndexJob.name, { pipeline }, tickId(`${name}-${pipeline}`, plannedAt)),
  };
}

/** Starts the runs of a tick, each with its job; a run whose job cannot be made is found by the recovery, too. */
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

/** Equal on every replica for the same tick; BullMQ takes no colon in an id. */
function tickId(job: string, plannedAt: Date): string {
  return `${job}-${plannedAt.toISOString().replaceAll(':', '')}`;
}
