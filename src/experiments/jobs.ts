import type { Context } from '../core/context.ts';
import { HOUR_MS } from '../core/time.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import { askShadows } from './ask-live.ts';
import { judgeShadows } from './judge-shadows.ts';
import { sumDays } from './sum-arms.ts';

const askShadowsJob = defineCronJob({
  name: 'ask-shadows',
  does: 'Sends a share of the sampled live queries to shadows, and compares the results of each shadow with the results that users got.',
  cron: '2-59/5 * * * *',
  timeoutMs: 240_000,
  handle: (context: Context, signal) => askShadows(context, signal),
});

const judgeShadowsJob = defineCronJob({
  name: 'judge-shadows',
  does: 'Sends the judged live queries to shadows, and judges the documents that only a shadow returns.',
  // Runs after the hourly `judge-live-traffic` job; queries that are not judged yet wait for the next hour.
  cron: '22 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: (context: Context, signal) => judgeShadows(context, signal),
});

const sumVariantDaysJob = defineCronJob({
  name: 'sum-variant-days',
  does: 'Sums the feedback, clicks and grades of each variant for each day, six hours after the day ends.',
  cron: '35 * * * *',
  timeoutMs: HOUR_MS / 2,
  handle: (context: Context, signal) =>
    forEachPipeline(context.variantPlans, signal, (plan) => sumDays(context, plan, signal)),
});

export const experimentJobs: readonly JobDefinition<Context>[] = [askShadowsJob, judgeShadowsJob, sumVariantDaysJob];
