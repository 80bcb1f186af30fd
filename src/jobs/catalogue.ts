/** Every job that recalld knows: the only place that says how often it is tried, how long it may take, what it does. */
import { checkJobs } from './check-jobs.ts';
import { densityJobs } from './density-jobs.ts';
import { diagnosisJobs } from './diagnosis-jobs.ts';
import { goldenJobs } from './golden-jobs.ts';
import type { JobDefinition } from './job-definition.ts';
import { liveJobs } from './live-jobs.ts';
import { probeJobs } from './probe-jobs.ts';

export const jobCatalogue: readonly JobDefinition[] = [
  ...goldenJobs,
  ...liveJobs,
  ...probeJobs,
  ...densityJobs,
  ...diagnosisJobs,
  ...checkJobs,
];
