/** Everything the daemon works with, opened in order: database, queue, schedule, exporter. Knows the adapters. */
import { hostname } from 'node:os';
import { type CheckStore, createCheckStore } from '../checks/check-store.ts';
import { readCheckGauges } from '../checks/gauges.ts';
import type { CleanupStack } from '../cleanup-stack.ts';
import type { Clock } from '../clock.ts';
import {
  createDensityPlans,
  type DensityPlan,
  type DensityTables,
  densityTables,
  readDensityGauges,
  readTopicGauges,
  type TopicsTable,
  type WatchTable,
} from '../density/index.ts';
import { createDeployments } from '../deployments/deployments.ts';
import type { Deployments } from '../deployments/ports/deployments.ts';
import { createDiagnoses } from '../diagnosis/diagnoses.ts';
import type { Diagnoses } from '../diagnosis/ports/diagnoses.ts';
import { readDiagnosisGauges } from '../diagnosis/publish-diagnoses.ts';
import { liveMixGauges, readScheduleGauges } from '../golden/gauges.ts';
import { createGoldenBaselines, type GoldenBaselines } from '../golden/sql/golden-baselines.ts';
import { createGoldenBatches, type GoldenBatches } from '../golden/sql/golden-batches.ts';
import { createGoldenRotations, type GoldenRotations } from '../golden/sql/golden-rotations.ts';
import { createGoldenRuns, type GoldenRuns } from '../golden/sql/golden-runs.ts';
import { createGoldenSets, type GoldenSets } from '../golden/sql/golden-sets.ts';
import { createGoldenTicks, type GoldenTicks } from '../golden/sql/golden-ticks.ts';
import { createRetrieverLimits, type RetrieverLimits } from '../golden/sql/retriever-limits.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { FeedbackSource } from '../live/feedback-source.ts';
import { liveIntervalSeconds } from '../live/live-plans.ts';
import type { LiveTraffic } from '../live/ports/live-traffic.ts';
import { feedbackGauges } from '../live/publish-feedback.ts';
import { liveGauges } from '../live/publish-live.ts';
import { createLiveTraffic } from '../live/sql/live-traffic.ts';
import type { Logger } from '../logger.ts';
import { createMeasurements } from '../measures/measurements.ts';
import type { Measurements } from '../measures/ports/measurements.ts';
import type { IntervalOf } from '../measures/rules/trust.ts';
import { createExporter, type Exporter } from '../metrics/prometheus.ts';
import { storedHashKey } from '../privacy/hash-key.ts';
import { readProbeGauges } from '../probes/publish-probes.ts';
import { openJobQueue } from '../queue/bullmq.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { createSchedule } from '../queue/node-cron.ts';
import type { Schedule } from '../queue/schedule.ts';
import { readStoredGauges } from '../status/publish.ts';
import { systemClock } from '../system-clock.ts';
import { type Compute, openCompute } from './compute.ts';
import type { Config } from './config/schema.ts';
import { jobCatalogue } from './job-catalogue.ts';
import { closePipelines, createPipelines } from './pipelines.ts';
import { queueBackend } from './queue-settings.ts';
import { openStorage, type Storage } from './storage.ts';
import { createTimetable, intervalsOf } from './timetable.ts';
import { version } from './version.ts';

export interface Dependencies {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Names this process among those that share the database. */
  readonly replica: string;
  readonly pipelines: readonly WatchedPipeline[];
  /** How the query density of those with a vector store is watched. */
  readonly densityPlans: readonly DensityPlan[];
  readonly density: DensityTables;
  readonly densityStates: WatchTable;
  readonly topics: TopicsTable;
  readonly checkStore: CheckStore;
  readonly storage: Storage;
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  readonly traffic: LiveTraffic;
  readonly measurements: Measurements;
  readonly baselines: GoldenBaselines;
  readonly deployments: Deployments;
  readonly diagnoses: Diagnoses;
  readonly rotations: GoldenRotations;
  readonly ticks: GoldenTicks;
  readonly batches: GoldenBatches;
  readonly limits: RetrieverLimits;
  readonly compute: Compute;
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
  const replica = `${hostname()}-${process.pid}`;
  const pipelines = createPipelines(config, logger);
  cleanups.defer('pipelines', () => closePipelines(pipelines));
  const compute = openCompute(logger, cleanups);
  const storage = await openStorage({ config, purpose: 'daemon', name, logger, cleanups, signal });
  const runs = createGoldenRuns(storage.pool);
  const traffic = createLiveTraffic(storage.pool, replica);
  await traffic.createPartitions(clock.now());
  const measurements = createMeasurements(storage.pool);
  const hashKey = config.storage.hash_key ?? (await storedHashKey(storage.pool));
  const queue = await openJobQueue({ backend: queueBackend(config, storage), jobs: jobCatalogue, logger });
  cleanups.defer('job queue', () => queue.close());
  const schedule = createSchedule(logger);
  cleanups.defer('schedule', () => schedule.stop());
  const sets = createGoldenSets(storage.pool);
  const rotations = createGoldenRotations(storage.pool);
  const ticks = createGoldenTicks(storage.pool);
  const timetable = createTimetable(clock.now());
  const intervalSeconds = intervalsOf(pipelines, timetable);
  const deployments = createDeployments(storage.pool);
  const densityPlans = createDensityPlans(config, pipelines);
  const density = densityTables(storage.pool);
  const diagnoses = createDiagnoses(storage.pool);
  const checkStore = createCheckStore(storage.pool);
  const names = pipelines.map(({ name }) => name);
  // Values are trusted by the schedule of the job that takes them.
  const live = { pipelines: names, intervalSeconds: liveIntervalSeconds(clock) };
  const golden = { sets, runs, rotations, ticks, clock, pipelines, timetable };
  const watched = { tables: density, plans: densityPlans };
  const exporter = createExporter({
    readStoredGauges: () =>
      readStoredGauges({
        runs,
        measurements,
        queue,
        clock,
        pipelines,
        intervalSeconds,
        parts: [
          (rows) => readScheduleGauges(golden, rows),
          (rows) => feedbackGauges(live, rows),
          (rows) => liveGauges(live, rows),
          (rows) => readProbeGauges({ deployments, pipelines: names }, rows),
          (rows) => readDensityGauges(watched, rows),
          () => readTopicGauges(watched),
          () => readDiagnosisGauges({ diagnoses, pipelines: names }),
          (rows) => liveMixGauges(pipelines, rows),
          () => readCheckGauges({ checkStore, pipelines, densityPlans }),
        ],
      }),
    clock,
    logger,
    version,
  });
  cleanups.defer('snapshot of the stored gauges', () => exporter.close());
  return {
    config,
    logger,
    clock,
    replica,
    pipelines,
    densityPlans,
    density,
    densityStates: density.watch,
    topics: density.topics,
    checkStore,
    storage,
    sets,
    runs,
    traffic,
    baselines: createGoldenBaselines(storage.pool),
    deployments,
    diagnoses,
    rotations,
    ticks,
    batches: createGoldenBatches(storage.pool),
    limits: createRetrieverLimits(storage.pool),
    measurements,
    compute,
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
