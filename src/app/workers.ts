/** The role `worker`: takes jobs from the queue. */
import { recoverGoldenRunsJob } from '../golden/golden-jobs.ts';
import { createJobRunner } from '../queue/run-job.ts';
import type { ClockWatch } from './clock-watch.ts';
import type { Dependencies } from './dependencies.ts';
import { jobCatalogue } from './job-catalogue.ts';
import { createJobDeps } from './job-deps.ts';
import { showJobCounters } from './known-counters.ts';
import { ticksOfJob } from './scheduler.ts';
import { startTicks } from './ticks.ts';

export interface Workers {
  /** Work in hand is put down, not finished: it is stored as far as it went and goes on elsewhere. */
  releaseJobs(): Promise<void>;
}

export async function startWorkers(dependencies: Dependencies, clockWatch: ClockWatch): Promise<Workers> {
  const { config, queue, clock, logger, exporter } = dependencies;
  const { meter } = exporter;
  const jobDeps = createJobDeps(dependencies);
  const shutdown = new AbortController();
  showJobCounters(config, meter);
  await queue.work(createJobRunner({ jobs: jobCatalogue, jobDeps, clock, logger, meter, shutdown: shutdown.signal }));
  // Not by the schedulers: they may all be gone, one of them right after it had made a run.
  const ticks = startTicks({ ...dependencies, meter, clockWatch }, ticksOfJob(queue, recoverGoldenRunsJob));
  return {
    async releaseJobs() {
      shutdown.abort(new Error('the daemon stops'));
      await Promise.all([ticks.stop(), queue.drain()]);
    },
  };
}
