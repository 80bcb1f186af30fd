/** Live traffic: its sampling, its measures, its retention. */

import { z } from 'zod';
import type { Config, PipelineConfig } from '../app/config/schema.ts';
import type { Context } from '../core/context.ts';
import { longestGapSeconds } from '../math/schedule/occurrences.ts';
import { durationMs } from '../platform/config/times.ts';
import { attemptEach } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob, defineJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import { measureFeedback } from './measure-feedback.ts';
import { type LivePlan, measureLiveTraffic } from './measure-live-traffic.ts';

/** Bounds of a share over so many samples are within a percent of it; more would only cost time and memory. */
export const MAX_SAMPLES = 20_000;

/** How the live traffic of each pipeline is measured. */
export function createLivePlans(config: Config): LivePlan[] {
  return config.pipelines.map(livePlan);
}

function livePlan({ name, live, segments, sampling }: PipelineConfig): LivePlan {
  const rates = [sampling.rate, ...Object.values(sampling.segments)];
  return {
    pipeline: name,
    windowMs: durationMs(live.window),
    baselineMs: durationMs(live.baseline),
    segmentKeys: segments.keys,
    maxSegments: segments.max,
    keepsAll: rates.every((rate) => rate === 1),
  };
}

/** Longest gap between two measurements of live traffic. */
export function liveIntervalSeconds(now: Date): number {
  return longestGapSeconds({ expression: measureLiveTrafficJob.cron ?? '0 0 * * *', timezone: 'UTC' }, now);
}

/** Days that the live queries of each pipeline of the config are kept. */
export function retentionDaysOf({ pipelines }: Pick<Config, 'pipelines'>): ReadonlyMap<string, number> {
  return new Map(pipelines.map(({ name, privacy }) => [name, privacy.retention_days]));
}

/** Those of pipelines that left the config, too, as they were kept last. */
async function allRetentionDays({ config, db }: Context): Promise<ReadonlyMap<string, number>> {
  return new Map([...retentionDaysOf(config), ...(await db.live.parts.retentionDays())]);
}

const DAY_SECONDS = 86_400;
/** Days that sentinel runs are kept; full runs are kept for good. */
const SENTINEL_DAYS = 14;

const closeSamplingMinutesJob = defineCronJob({
  name: 'close-sampling-minutes',
  does: 'Gives the live queries of past minutes one sampling rate for the whole minute.',
  cron: '20 * * * * *',
  timeoutMs: 60_000,
  async handle(context: Context) {
    // A minute is left alone for another one, in which requests that were under way come to their end.
    await context.db.live.traffic.closeMinutes(new Date(context.clock.now().getTime() - 120_000));
  },
});

const releaseTraceFragmentsJob = defineCronJob({
  name: 'release-trace-fragments',
  does: 'Drops what OpenTelemetry spans told about live queries that did not come within 10 to 20 minutes.',
  cron: '40 */2 * * * *',
  timeoutMs: 60_000,
  handle: (context: Context) => context.db.live.traffic.releaseFragments(context.clock.now()),
});

const eraseLateArrivalsJob = defineCronJob({
  name: 'erase-late-arrivals',
  does: 'Erases what came late of people and queries that had been erased.',
  cron: '50 * * * * *',
  timeoutMs: 60_000,
  async handle(context: Context) {
    const { db, clock, logger } = context;
    const erased = await db.live.traffic.eraseLate([...(await allRetentionDays(context)).keys()], clock.now());
    if (erased.queries + erased.feedback > 0)
      logger.info('what came late of erased people and queries was erased', { ...erased });
  },
});

const keepPartitionsJob = defineJob({
  name: 'keep-partitions',
  does: 'Makes the partitions of live queries, feedback and measurements ahead of time and drops those past their retention, with old sentinel runs, incidents, changes of checks, console sessions that have run out, old acts of people and whom erasures were about.',
  payload: z.strictObject({}),
  concurrency: 1,
  attempts: 5,
  backoffMs: 5000,
  timeoutMs: 600_000,
  retainSeconds: DAY_SECONDS,
  cron: '17 * * * *',
  async handle(context: Context, _payload, signal) {
    const now = context.clock.now();
    const daysAgo = (days: number): Date => new Date(now.getTime() - days * DAY_SECONDS * 1000);
    await context.db.live.traffic.createPartitions(now);
    await context.db.measurements.createPartitions(now);
    const oldest = daysAgo(context.config.storage.measurement_retention_days);
    await attemptEach(
      [
        () => context.db.golden.runs.pruneSentinels(daysAgo(SENTINEL_DAYS)),
        async () => context.db.live.traffic.prune(await allRetentionDays(context), now),
        () => context.db.live.parts.forget(now),
        () => context.db.measurements.prune(oldest),
        () => context.db.incidents.prune(oldest),
        () => context.db.checks.prune(oldest),
        () => context.db.platform.sessions.prune(),
        () => context.db.platform.auditLog.prune(daysAgo(context.config.storage.audit_retention_days)),
      ],
      signal,
    );
  },
});

export const measureLiveTrafficJob = defineCronJob({
  name: 'measure-live-traffic',
  does: 'Estimates failures, empty answers and clicks of live traffic from the samples of the trailing window, and measures its feedback and whether it dropped.',
  cron: '*/5 * * * *',
  timeoutMs: 240_000,
  handle: (context: Context, signal) =>
    attemptEach([() => measureFeedback(context, signal), () => measureLiveTraffic(context, signal)], signal),
});

export const liveJobs: readonly JobDefinition<Context>[] = [
  closeSamplingMinutesJob,
  releaseTraceFragmentsJob,
  eraseLateArrivalsJob,
  keepPartitionsJob,
  measureLiveTrafficJob,
];
