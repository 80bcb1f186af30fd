import { z } from 'zod';
import type { Config } from '../app/config/schema.ts';
import type { Context } from '../core/context.ts';
import { longestGapSeconds } from '../math/schedule/occurrences.ts';
import { attemptEach } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob, defineJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import { type LivePlan, livePlan } from './context.ts';
import { measureFeedback } from './measure-feedback.ts';
import { measureLiveTraffic } from './measure-live-traffic.ts';

/**
 * Maximum number of samples. With 20,000 samples, the 95 % CI of a share extends at most one percentage point to each
 * side; more samples would only cost time and memory.
 */
export const MAX_SAMPLES = 20_000;

export function createLivePlans(config: Config): LivePlan[] {
  return config.pipelines.map(livePlan);
}

/** Returns the longest time, in seconds, between two measurements of live traffic. */
export function liveIntervalSeconds(now: Date): number {
  return longestGapSeconds({ expression: measureLiveTrafficJob.cron ?? '0 0 * * *', timezone: 'UTC' }, now);
}

/** Returns how many days live queries are kept, for each configured pipeline. */
export function retentionDaysOf({ pipelines }: Config): ReadonlyMap<string, number> {
  return new Map(pipelines.map(({ name, privacy }) => [name, privacy.retention_days]));
}

/**
 * Returns how many days live queries are kept, for each configured pipeline and each pipeline that was removed from the
 * config.
 */
async function allRetentionDays({ config, db }: Context): Promise<ReadonlyMap<string, number>> {
  return new Map([...retentionDaysOf(config), ...(await db.live.configuredItems.retentionDays())]);
}

const DAY_SECONDS = 86_400;
/** Number of days for which sentinel runs are kept; full runs are kept forever. */
const SENTINEL_DAYS = 14;

const closeSamplingMinutesJob = defineCronJob({
  name: 'close-sampling-minutes',
  does: 'Reduces the samples of each past minute to one common sampling rate.',
  cron: '20 * * * * *',
  timeoutMs: 60_000,
  async handle(context: Context) {
    // Closes each minute one minute after it ends, so that requests in flight can finish.
    await context.db.live.traffic.closeMinutes(new Date(context.clock.now().getTime() - 120_000));
  },
});

const dropTraceFragmentsJob = defineCronJob({
  name: 'drop-trace-fragments',
  does: 'Deletes fragments of OpenTelemetry traces that have waited 10 to 20 minutes for their live query.',
  cron: '40 */2 * * * *',
  timeoutMs: 60_000,
  handle: (context: Context) => context.db.live.traffic.dropOldFragments(context.clock.now()),
});

const eraseLateArrivalsJob = defineCronJob({
  name: 'erase-late-arrivals',
  does: 'Erases data that arrived after its user or query had been erased.',
  cron: '50 * * * * *',
  timeoutMs: 60_000,
  async handle(context: Context) {
    const { db, clock, logger, hooks } = context;
    const erased = await db.live.traffic.eraseLate([...(await allRetentionDays(context)).keys()], clock.now());
    if (erased.queries + erased.feedback === 0) return;
    logger.info('erased data that arrived after its user or query had been erased', { ...erased });
    hooks.refreshExport();
  },
});

const maintainPartitionsJob = defineJob({
  name: 'maintain-partitions',
  does: 'Creates upcoming partitions of live queries, feedback and measurements, and deletes data past its retention: partitions, sentinel runs, incidents, check history, expired console sessions, audit log entries and erasure records.',
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
        () => context.db.live.configuredItems.prune(now),
        () => context.db.measurements.prune(oldest),
        () => context.db.incidents.prune(oldest),
        () => context.db.silences.prune(oldest),
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
  does: 'Estimates failures, zero results, clicks and episodes of live traffic from samples in the trailing window. Also measures feedback and detects drops in it.',
  cron: '*/5 * * * *',
  timeoutMs: 240_000,
  handle: (context: Context, signal) =>
    attemptEach([() => measureFeedback(context, signal), () => measureLiveTraffic(context, signal)], signal),
});

export const reportViolationsJob = defineJob({
  name: 'report-violations',
  does: 'Evaluates the checks of a pipeline as soon as the results of a live query violate an isolation rule, and diagnoses the incident.',
  payload: z.strictObject({ pipeline: z.string().min(1) }),
  concurrency: 1,
  attempts: 3,
  backoffMs: 1000,
  timeoutMs: 55_000,
  retainSeconds: 600,
  cron: null,
  async handle({ hooks, clock }: Context, { pipeline }) {
    await hooks.evaluateChecks([pipeline]);
    await hooks.diagnose(pipeline, `violation-${pipeline}-${clock.now().getTime()}`);
  },
});

export const liveJobs: readonly JobDefinition<Context>[] = [
  closeSamplingMinutesJob,
  dropTraceFragmentsJob,
  eraseLateArrivalsJob,
  maintainPartitionsJob,
  measureLiveTrafficJob,
  reportViolationsJob,
];
