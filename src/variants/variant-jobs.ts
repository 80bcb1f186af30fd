/** Sums of what users make of the variants of a service. */
import { defineCronJob, type JobDefinition } from '../queue/job-queue.ts';
import { HOUR_MS } from '../time.ts';

export interface VariantJobDeps {
  readonly sumVariantDays: (signal: AbortSignal) => Promise<void>;
}

const sumVariantDaysJob = defineCronJob({
  name: 'sum-variant-days',
  does: 'Sums feedback, clicks and grades of each variant over the days that are over, six hours after their end.',
  cron: '35 * * * *',
  timeoutMs: HOUR_MS / 2,
  handle: ({ sumVariantDays }: VariantJobDeps, signal) => sumVariantDays(signal),
});

export const variantJobs: readonly JobDefinition<VariantJobDeps>[] = [sumVariantDaysJob];
