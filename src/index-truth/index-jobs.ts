/** Rounds over the indexes of pipelines. */
import { z } from 'zod';
import { defineJob, type JobDefinition } from '../queue/job-queue.ts';
import { HOUR_MS } from '../time.ts';
import { checkIndex } from './check-index.ts';
import type { IndexDeps, IndexPlan } from './plan.ts';

export interface IndexJobDeps {
  readonly indexTruth: IndexDeps;
  readonly indexPlans: readonly IndexPlan[];
}

export const checkIndexJob = defineJob({
  name: 'check-index',
  does: 'Holds what the store of a pipeline holds against its manifest; goes on where the round before was put off.',
  payload: z.strictObject({ pipeline: z.string().min(1) }),
  concurrency: 2,
  attempts: 1,
  backoffMs: 1000,
  timeoutMs: HOUR_MS,
  retainSeconds: 600,
  cron: null,
  async handle({ indexTruth, indexPlans }: IndexJobDeps, { pipeline }, signal) {
    const plan = indexPlans.find((one) => one.pipeline === pipeline);
    // The config may have another one by now.
    if (plan !== undefined) await checkIndex(indexTruth, plan, signal);
  },
});

export const indexJobs: readonly JobDefinition<IndexJobDeps>[] = [checkIndexJob];
