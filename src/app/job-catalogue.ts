/** Every job that recalld knows: the only place that says how often it is tried, how long it may take, what it does. */

import { type CheckJobDeps, evaluateChecksJob } from '../checks/evaluate-checks.ts';
import { type DensityJobDeps, densityJobs } from '../density/jobs.ts';
import { type DiagnosisJobDeps, diagnosisJobs } from '../diagnosis/diagnosis-jobs.ts';
import { type GoldenJobDeps, goldenJobs } from '../golden/golden-jobs.ts';
import { type IndexJobDeps, indexJobs } from '../index-truth/index-jobs.ts';
import { type LiveJobDeps, liveJobs } from '../live/live-jobs.ts';
import { type ProbeJobDeps, probeJobs } from '../probes/probe-jobs.ts';
import type { JobDefinition } from '../queue/job-queue.ts';
import { type VariantJobDeps, variantJobs } from '../variants/variant-jobs.ts';

/** What all of their handlers work with. */
export type JobDeps = CheckJobDeps &
  DensityJobDeps &
  DiagnosisJobDeps &
  GoldenJobDeps &
  IndexJobDeps &
  LiveJobDeps &
  ProbeJobDeps &
  VariantJobDeps;

export const jobCatalogue: readonly JobDefinition<JobDeps>[] = [
  ...goldenJobs,
  ...liveJobs,
  ...probeJobs,
  ...densityJobs,
  ...indexJobs,
  ...variantJobs,
  ...diagnosisJobs,
  evaluateChecksJob,
];
