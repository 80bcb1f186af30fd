/** Ticks: golden sets by their cron, and the jobs that start by themselves. Any number of these may run. */
import { jobCatalogue, runGoldenSetJob } from '../jobs/catalogue.ts';
import { type StartGoldenRunDeps, startGoldenRun } from '../pipeline/start-golden-run.ts';
import type { GoldenSchedule, WatchedPipeline } from '../pipeline/watched-pipeline.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { Schedule } from '../ports/schedule.ts';
import type { Logger } from '../ports/telemetry.ts';

export interface SchedulerDeps extends StartGoldenRunDeps {
  readonly schedule: Schedule;
  readonly queue: JobQueue;
  readonly logger: Logger;
  readonly pipelines: readonly WatchedPipeline[];
}

/**
 * Starts to tick, and makes up for the latest tick of each golden set when nobody ran it: a daemon that was down
 * over the hour measures at once, and never more than once.
 */
export async function startScheduler(deps: SchedulerDeps): Promise<void> {
  for (const job of jobCatalogue) {
    if (job.cron === null) continue;
    deps.schedule.every(job.cron, 'UTC', (plannedAt) => {
      void attempt(deps, `tick of ${job.name}`, () =>
        deps.queue.enqueue(job.name, {}, tickId(job.name, plannedAt)),
      );
    });
  }
  const scheduled = deps.pipelines.flatMap((pipeline) =>
    pipeline.golden.map((golden) => ({ pipeline, golden })),
  );
  for (const { pipeline, golden } of scheduled) {
    if (golden.cron === null) continue;
    const { expression, timezone } = golden.cron;
    deps.schedule.every(expression, timezone, (plannedAt) => {
      void tick(deps, pipeline, golden, plannedAt);
    });
    await tick(deps, pipeline, golden, deps.schedule.previous(expression, timezone, deps.clock.now()));
  }
}

function tick(
  deps: SchedulerDeps,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  plannedAt: Date,
): Promise<void> {
  return attempt(deps, `golden run of ${golden.set} on ${pipeline.name}`, async () => {
    const runId = await startGoldenRun(deps, pipeline, golden, plannedAt);
    if (runId !== null) await deps.queue.enqueue(runGoldenSetJob.name, { run_id: runId }, runId);
  });
}

/** A tick that fails is logged; the next one comes all the same, and what did not run is seen by its age. */
async function attempt(deps: SchedulerDeps, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    deps.logger.error('a scheduled start failed', {
      what,
      reason: error instanceof Error ? error.message : String(error),
    });
  }
}

/** Equal on every replica for the same tick; BullMQ takes no colon in an id. */
function tickId(job: string, plannedAt: Date): string {
  return `${job}-${plannedAt.toISOString().replaceAll(':', '')}`;
}
