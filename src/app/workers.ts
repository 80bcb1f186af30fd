/** The `worker` role: runs the jobs in the queue. */

import { recoverGoldenRunsJob } from '../golden/golden-jobs.ts';
import { labelValues } from '../platform/metrics/catalogue.ts';
import type { Meter } from '../platform/metrics/meter.ts';
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
  // Workers start this job, because all schedulers may be down, and a scheduler may have stopped right after it created
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

/**
 * Exports a worker's counters as 0 from the start. In PromQL, `increase` is 0 for a counter that appears with its first
 * event, so an alert would miss that event.
 */
export function showJobCounters({ notify, metrics, pipelines }: Config, meter: Meter): void {
  for (const { kind } of notify) {
    for (const outcome of labelValues.recalld_notifications_total.outcome)
      meter.increment('recalld_notifications_total', { kind, outcome }, 0);
  }
  for (const { name: pipeline, judged, shadow } of pipelines) {
    for (const { name } of shadow) {
      for (const outcome of labelValues.recalld_shadow_live_questions_total.outcome)
        meter.increment('recalld_shadow_live_questions_total', { pipeline, shadow: name, outcome }, 0);
    }
    if (judged === undefined) continue;
    for (const reason of labelValues.recalld_judge_failures_total.reason)
      meter.increment('recalld_judge_failures_total', { pipeline, reason }, 0);
    meter.increment('recalld_judge_cost_dollars_total', { pipeline }, 0);
    meter.increment('recalld_judge_flagged_total', { pipeline }, 0);
    meter.increment('recalld_judge_unaffordable_queries_total', { pipeline }, 0);
    if (metrics.otlp?.send.includes('evaluations') !== true) continue;
    for (const outcome of labelValues.recalld_evaluation_requests_total.outcome)
      meter.increment('recalld_evaluation_requests_total', { pipeline, outcome }, 0);
  }
  for (const { name: task } of jobCatalogue) {
    for (const outcome of labelValues.recalld_jobs_total.outcome)
      meter.increment('recalld_jobs_total', { task, outcome }, 0);
  }
}
