/** The job that has live traffic graded. */
import { defineCronJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import { judgeLiveTraffic } from './judge-live-traffic.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';

export interface JudgingJobDeps {
  readonly judging: JudgingDeps;
  readonly judgingPlans: readonly JudgingPlan[];
}

const judgeLiveTrafficJob = defineCronJob({
  name: 'judge-live-traffic',
  does: 'Draws live queries, has what they were answered with graded, and measures what was graded.',
  cron: '7 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: ({ judging, judgingPlans }: JudgingJobDeps, signal) => judgeLiveTraffic(judging, judgingPlans, signal),
});

export const judgingJobs: readonly JobDefinition<JudgingJobDeps>[] = [judgeLiveTrafficJob];
