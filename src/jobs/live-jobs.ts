/** Live traffic: its sampling, its measures, its retention. */
import { z } from 'zod';
import { measureFeedback } from '../pipeline/live/measure-feedback.ts';
import { measureLiveTraffic } from '../pipeline/live/measure-live-traffic.ts';
import { defineCronJob, defineJob, type JobDefinition } from './job-definition.ts';

const DAY_SECONDS = 86_400;
/** Days that sentinel runs are kept; full runs are kept for good. */
const SENTINEL_DAYS = 14;

const closeSamplingMinutesJob = defineCronJob({
  name: 'close-sampling-minutes',
  does: 'Gives the live queries of past minutes one sampling rate for the whole minute.',
  cron: '20 * * * * *',
  timeoutMs: 60_000,
  async handle(deps) {
    // A minute is left alone for another one, in which requests that were under way come to their end.
    await deps.traffic.closeMinutes(new Date(deps.clock.now().getTime() - 120_000));
  },
});

const releaseTraceFragmentsJob = defineCronJob({
  name: 'release-trace-fragments',
  does: 'Drops what OpenTelemetry spans told about live queries that did not come within 10 to 20 minutes.',
  cron: '40 */2 * * * *',
  timeoutMs: 60_000,
  handle: (deps) => deps.traffic.releaseFragments(deps.clock.now()),
});

const keepPartitionsJob = defineJob({
  name: 'keep-partitions',
  does: 'Makes the partitions of live queries, feedback and measurements ahead of time and drops those past their retention, with old sentinel runs, diagnoses and changes of checks.',
  payload: z.strictObject({}),
  concurrency: 1,
  attempts: 5,
  backoffMs: 5000,
  timeoutMs: 600_000,
  retainSeconds: DAY_SECONDS,
  cron: '17 * * * *',
  async handle(deps) {
    const now = deps.clock.now();
    await deps.traffic.createPartitions(now);
    await deps.runs.pruneSentinels(new Date(now.getTime() - SENTINEL_DAYS * DAY_SECONDS * 1000));
    await deps.measurements.createPartitions(now);
    await deps.traffic.prune(deps.retentionDays, now);
    const oldest = now.getTime() - deps.measurementRetentionDays * DAY_SECONDS * 1000;
    await deps.measurements.prune(new Date(oldest));
    await deps.diagnose.diagnoses.prune(new Date(oldest));
    await deps.evaluateChecks.history.prune(new Date(oldest));
  },
});

export const measureLiveTrafficJob = defineCronJob({
  name: 'measure-live-traffic',
  does: 'Estimates failures, empty answers and clicks of live traffic from the samples of the trailing window, and measures its feedback.',
  cron: '*/5 * * * *',
  timeoutMs: 240_000,
  async handle(deps, signal) {
    await measureFeedback(deps.measureFeedback, signal);
    await measureLiveTraffic(deps.measureLive, signal);
  },
});

export const liveJobs: readonly JobDefinition[] = [
  closeSamplingMinutesJob,
  releaseTraceFragmentsJob,
  keepPartitionsJob,
  measureLiveTrafficJob,
];
