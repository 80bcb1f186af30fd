/** Live traffic: its sampling, its measures, its retention. */
import { z } from 'zod';
import type { Config, PipelineConfig } from '../app/config/schema.ts';
import type { Clock } from '../core/time.ts';
import { longestGapSeconds } from '../math/schedule/occurrences.ts';
import type { Measurements } from '../measures/measurements.ts';
import { durationMs } from '../platform/config/times.ts';
import { attemptEach } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob, defineJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import { type MeasureFeedbackDeps, measureFeedback } from './measure-feedback.ts';
import { type LivePlan, type MeasureLiveDeps, measureLiveTraffic } from './measure-live-traffic.ts';
import type { LiveTraffic } from './sql/live-traffic.ts';

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
export function liveIntervalSeconds(clock: Clock): number {
  return longestGapSeconds({ expression: measureLiveTrafficJob.cron ?? '0 0 * * *', timezone: 'UTC' }, clock.now());
}

/** What can be told to forget what is older. */
interface Prunable {
  prune(before: Date): Promise<unknown>;
}

export interface LiveJobDeps {
  readonly clock: Clock;
  readonly traffic: LiveTraffic;
  readonly runs: { pruneSentinels(before: Date): Promise<unknown> };
  readonly measurements: Pick<Measurements, 'createPartitions' | 'prune'>;
  readonly diagnose: { readonly incidents: Prunable };
  readonly checkStore: Prunable;
  /** Days that the live queries of each pipeline are kept, of those that left the config as they were kept last. */
  readonly retentionDays: () => Promise<ReadonlyMap<string, number>>;
  readonly forgetEndedParts: (now: Date) => Promise<void>;
  readonly measurementRetentionDays: number;
  readonly auditLog: Prunable;
  readonly auditRetentionDays: number;
  readonly consoleSessions: { prune(): Promise<unknown> };
  readonly measureLive: MeasureLiveDeps;
  readonly measureFeedback: MeasureFeedbackDeps;
}

const DAY_SECONDS = 86_400;
/** Days that sentinel runs are kept; full runs are kept for good. */
const SENTINEL_DAYS = 14;

const closeSamplingMinutesJob = defineCronJob({
  name: 'close-sampling-minutes',
  does: 'Gives the live queries of past minutes one sampling rate for the whole minute.',
  cron: '20 * * * * *',
  timeoutMs: 60_000,
  async handle(deps: LiveJobDeps) {
    // A minute is left alone for another one, in which requests that were under way come to their end.
    await deps.traffic.closeMinutes(new Date(deps.clock.now().getTime() - 120_000));
  },
});

const releaseTraceFragmentsJob = defineCronJob({
  name: 'release-trace-fragments',
  does: 'Drops what OpenTelemetry spans told about live queries that did not come within 10 to 20 minutes.',
  cron: '40 */2 * * * *',
  timeoutMs: 60_000,
  handle: (deps: LiveJobDeps) => deps.traffic.releaseFragments(deps.clock.now()),
});

const eraseLateArrivalsJob = defineCronJob({
  name: 'erase-late-arrivals',
  does: 'Erases what came late of people and queries that had been erased.',
  cron: '50 * * * * *',
  timeoutMs: 60_000,
  async handle({ traffic, retentionDays, clock, logger }) {
    const erased = await traffic.eraseLate([...(await retentionDays()).keys()], clock.now());
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
  async handle(deps: LiveJobDeps, _payload, signal) {
    const now = deps.clock.now();
    const daysAgo = (days: number): Date => new Date(now.getTime() - days * DAY_SECONDS * 1000);
    await deps.traffic.createPartitions(now);
    await deps.measurements.createPartitions(now);
    const oldest = daysAgo(deps.measurementRetentionDays);
    await attemptEach(
      [
        () => deps.runs.pruneSentinels(daysAgo(SENTINEL_DAYS)),
        async () => deps.traffic.prune(await deps.retentionDays(), now),
        () => deps.forgetEndedParts(now),
        () => deps.measurements.prune(oldest),
        () => deps.diagnose.incidents.prune(oldest),
        () => deps.checkStore.prune(oldest),
        () => deps.consoleSessions.prune(),
        () => deps.auditLog.prune(daysAgo(deps.auditRetentionDays)),
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
  handle: (deps: LiveJobDeps, signal) =>
    attemptEach(
      [() => measureFeedback(deps.measureFeedback, signal), () => measureLiveTraffic(deps.measureLive, signal)],
      signal,
    ),
});

export const liveJobs: readonly JobDefinition<LiveJobDeps>[] = [
  closeSamplingMinutesJob,
  releaseTraceFragmentsJob,
  eraseLateArrivalsJob,
  keepPartitionsJob,
  measureLiveTrafficJob,
];
