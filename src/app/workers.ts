/** The `worker` role: runs the jobs in the queue. */

import { recoverGoldenRunsJob } from '../golden/golden-jobs.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import { startAtZero } from '../platform/metrics/prometheus.ts';
import { createJobRunner } from '../platform/queue/job-queue.ts';
import type { ClockWatch } from './clock-watch.ts';
import type { Config } from './config/schema.ts';
import type { Daemon } from './dependencies.ts';
import { jobCatalogue, startTicks, ticksOfJob } from './jobs.ts';

export async function startWorkers(context: Daemon, clockWatch: ClockWatch) {
  const { config, queue, clock, logger, meter } = context;
  const shutdown = new AbortController();
  showJobCounters(config, meter);
  await queue.work(
    createJobRunner({ jobs: jobCatalogue, jobDeps: context, clock, logger, meter, shutdown: shutdown.signal }),
  );
  // Workers start this job, because every scheduler may be down, or a scheduler may have stopped right after it created
  // a run.
  const ticks = startTicks({ ...context, clockWatch }, ticksOfJob(queue, recoverGoldenRunsJob));
  return {
    /** Interrupts running jobs: their progress is stored, and they continue in another process. */
    async releaseJobs(): Promise<void> {
      shutdown.abort(new Error('the daemon stops'));
      await Promise.all([ticks.stop(), queue.drain()]);
    },
  };
}

/** Exports a worker's counters as 0 from the start. */
export function showJobCounters({ notify, metrics, pipelines }: Config, meter: Meter): void {
  for (const { kind } of notify) startAtZero(meter, 'recalld_notifications_total', { kind });
  for (const { name: pipeline, judged, shadow } of pipelines) {
    for (const { name } of shadow)
      startAtZero(meter, 'recalld_shadow_live_questions_total', { pipeline, shadow: name });
    if (judged === undefined) continue;
    startAtZero(meter, 'recalld_judge_failures_total', { pipeline });
    startAtZero(meter, 'recalld_judge_cost_dollars_total', { pipeline });
    startAtZero(meter, 'recalld_judge_flagged_total', { pipeline });
    startAtZero(meter, 'recalld_judge_unaffordable_queries_total', { pipeline });
    if (metrics.otlp?.send.includes('evaluations') === true)
      startAtZero(meter, 'recalld_evaluation_requests_total', { pipeline });
  }
  for (const { name: task } of jobCatalogue) startAtZero(meter, 'recalld_jobs_total', { task });
}
