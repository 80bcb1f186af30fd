/** Everything the daemon works with, opened in order: threads, database, queue, schedule, exporter. */
import { readCheckGauges } from '../checks/check-store.ts';
import type { CleanupStack } from '../cleanup-stack.ts';
import { createDensityCompute, type DensityCompute } from '../density/compute.ts';
import { readDensityGauges, readTopicGauges } from '../density/gauges.ts';
import { createDensityPlans, type DensityPlan } from '../density/plan.ts';
import { readDiagnosisGauges } from '../diagnosis/incidents.ts';
import { createExplainTurns, type ExplainTurns } from '../explain/explain-turns.ts';
import { liveMixGauges, readScheduleGauges } from '../golden/gauges.ts';
import { createGoldenStatistics, type GoldenStatistics } from '../golden/golden-statistics.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { readIndexGauges } from '../index-truth/measure-index.ts';
import { createIndexPlans, type IndexPlan } from '../index-truth/plan.ts';
import { judgingGauges } from '../judging/gauges.ts';
import { createJudgingPlans, type JudgingPlan } from '../judging/plan.ts';
import { liveIntervalSeconds } from '../live/live-jobs.ts';
import type { FeedbackSource } from '../live/measure-live-traffic.ts';
import { feedbackGauges, liveGauges } from '../live/publish-live.ts';
import type { Logger } from '../logger.ts';
import type { IntervalOf } from '../measures/rules/measurement.ts';
import { createOtlpEndpoint, type OtlpEndpoint } from '../metrics/otlp.ts';
import { createExporter, type Exporter } from '../metrics/prometheus.ts';
import { createReceivers, type Receiver } from '../notifications/receivers.ts';
import { storedHashKey } from '../privacy/personal-data.ts';
import { readProbeGauges } from '../probes/probes.ts';
import { openJobQueue } from '../queue/bullmq.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { createSchedule, type Schedule } from '../queue/node-cron.ts';
import { readShadowGauges } from '../shadow/gauges.ts';
import { readStoredGauges } from '../status/publish.ts';
import { systemClock } from '../system-clock.ts';
import type { Clock } from '../time.ts';
import { createVariantPlans, readVariantGauges, type VariantPlan } from '../variants/variants-reads.ts';
import { createComputePool } from './compute.ts';
import type { Config } from './config/schema.ts';
import { type Database, openDatabase, openStorage, queueBackend, type Storage } from './database.ts';
import { createTimetable, intervalsOf, jobCatalogue } from './jobs.ts';
import { closePipelines, createPipelines } from './pipelines.ts';
import { version } from './version.ts';

/** One thread leaves the other core of a small machine to requests. */
const THREADS = 1;
const MAX_WAITING = 16;

interface Compute {
  readonly density: DensityCompute;
  readonly statistics: GoldenStatistics;
}

/** The threads start with the first work for them and end with the cleanups. */
function openCompute(logger: Logger, cleanups: CleanupStack): Compute {
  const pool = createComputePool({
    threads: THREADS,
    mostWaiting: MAX_WAITING,
    onDone: ({ task, computeMs, totalMs, processBytes }) =>
      logger.debug('a computation is done', {
        task,
        compute_ms: Math.round(computeMs),
        total_ms: Math.round(totalMs),
        process_bytes: processBytes,
      }),
  });
  cleanups.defer('compute threads', () => pool.close());
  return { density: createDensityCompute(pool), statistics: createGoldenStatistics(pool) };
}

export interface Dependencies extends Database {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly storage: Storage;
  readonly pipelines: readonly WatchedPipeline[];
  /** How the query density of those with a vector store is watched. */
  readonly densityPlans: readonly DensityPlan[];
  /** How the index of those with `index` is held against its manifest. */
  readonly indexPlans: readonly IndexPlan[];
  /** How the live traffic of those with `judged` is judged. */
  readonly judgingPlans: readonly JudgingPlan[];
  /** How the variants of those with `variants` are compared. */
  readonly variantPlans: readonly VariantPlan[];
  readonly compute: Compute;
  readonly explainTurns: ExplainTurns;
  /** Where metrics and events are sent; null: nowhere. */
  readonly otlp: OtlpEndpoint | null;
  /** Who is told of incidents. */
  readonly receivers: readonly Receiver[];
  readonly queue: JobQueue;
  readonly schedule: Schedule;
  readonly exporter: Exporter;
  /** Key of the hashes that stand for people. */
  readonly hashKey: string;
  readonly intervalSeconds: IntervalOf;
}

export interface DependencySettings {
  readonly config: Config;
  /** What the connections of this process are called in `pg_stat_activity`. */
  readonly name: string;
  readonly logger: Logger;
  readonly cleanups: CleanupStack;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/** @throws RecalldError as openStorage and openJobQueue, and config_invalid for a retriever that cannot be built */
export async function openDependencies(settings: DependencySettings): Promise<Dependencies> {
  const { config, name, logger, cleanups, signal, clock = systemClock } = settings;
  const pipelines = createPipelines(config, logger);
  cleanups.defer('pipelines', () => closePipelines(pipelines));
  const judgingPlans = createJudgingPlans(config, pipelines);
  cleanups.defer('judges', async () => judgingPlans.forEach(({ judge }) => judge?.close?.()));
  const indexPlans = createIndexPlans(config, pipelines, clock.now());
  const receivers = createReceivers(config.notify);
  cleanups.defer('receivers of notifications', () => receivers.forEach((one) => one.close()));
  const { otlp: sent } = config.metrics;
  const otlp = sent === undefined ? null : createOtlpEndpoint(sent, { version, startedAt: clock.now() });
  cleanups.defer('OTLP endpoint', async () => otlp?.close());
  const compute = openCompute(logger, cleanups);
  const storage = await openStorage({ config, purpose: 'daemon', name, logger, cleanups, signal });
  const database = openDatabase(storage);
  await database.traffic.createPartitions(clock.now());
  const hashKey = config.storage.hash_key ?? (await storedHashKey(storage.pool));
  const queue = await openJobQueue({ backend: queueBackend(config, storage), jobs: jobCatalogue, logger });
  cleanups.defer('job queue', () => queue.close());
  const schedule = createSchedule(logger);
  cleanups.defer('schedule', () => schedule.stop());
  const timetable = createTimetable(clock.now());
  const intervalSeconds = intervalsOf(pipelines, timetable);
  const densityPlans = createDensityPlans(config, pipelines);
  const names = pipelines.map(({ name }) => name);
  // Values are trusted by the schedule of the job that takes them.
  const live = { pipelines: names, intervalSeconds: liveIntervalSeconds(clock) };
  const watched = { ...database, clock, pipelines, timetable, densityPlans };
  const density = { tables: database.density, plans: densityPlans };
  const variantPlans = createVariantPlans(config);
  const exporter = createExporter({
    readStoredGauges: () =>
      readStoredGauges({
        ...watched,
        queue,
        intervalSeconds,
        parts: [
          (rows) => readScheduleGauges(watched, rows),
          (rows) => feedbackGauges(live, rows),
          (rows) => liveGauges(live, rows),
          (rows) => readProbeGauges({ deployments: database.deployments, pipelines: names }, rows),
          (rows) => readDensityGauges(density, rows),
          (rows) => Promise.resolve(judgingGauges(judgingPlans, rows)),
          (rows) => readIndexGauges({ ...database, plans: indexPlans }, rows),
          () => readTopicGauges(density),
          () => readDiagnosisGauges({ incidents: database.incidents, pipelines: names }),
          () => readShadowGauges(watched),
          () => readVariantGauges({ ...database, variantPlans }),
          (rows) => liveMixGauges(pipelines, rows),
          () => readCheckGauges(watched),
        ],
      }),
    clock,
    logger,
    version,
    buckets: { recalld_query_latency_seconds: config.metrics.latency_buckets },
  });
  cleanups.defer('snapshot of the stored gauges', () => exporter.close());
  return {
    ...database,
    config,
    logger,
    clock,
    storage,
    pipelines,
    densityPlans,
    judgingPlans,
    indexPlans,
    variantPlans,
    compute,
    explainTurns: createExplainTurns({ limits: database.limits, clock, logger }),
    otlp,
    receivers,
    queue,
    schedule,
    exporter,
    hashKey,
    intervalSeconds,
  };
}

/** Of which pipelines feedback is measured, and over which of its segments. */
export function feedbackSources({ pipelines }: Config): FeedbackSource[] {
  return pipelines.map(({ name, segments }) => ({
    pipeline: name,
    segmentKeys: segments.keys,
    maxSegments: segments.max,
  }));
}
