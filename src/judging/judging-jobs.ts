import type { Context } from '../core/context.ts';
import { defineCronJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import { judgeLiveTraffic } from './judge-live-traffic.ts';

const judgeLiveTrafficJob = defineCronJob({
  name: 'judge-live-traffic',
  does: 'Selects live queries, grades their documents, and measures judged live relevance.',
  cron: '7 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: (context: Context, signal) => judgeLiveTraffic(context, context.judgingPlans, signal),
});

export const judgingJobs: readonly JobDefinition<Context>[] = [judgeLiveTrafficJob];
