/** Everything the daemon works with, opened in order: database, queue, schedule, exporter. Knows the adapters. */
import { hostname } from 'node:os';
import { createCheckHistory } from '../adapters/postgres/check-history.ts';
import { createDensityStates } from '../adapters/postgres/density/density-states.ts';
import { createQueryCoverage } from '../adapters/postgres/density/query-coverage.ts';
import { createUncoveredTopics } from '../adapters/postgres/density/uncovered-topics.ts';
import { createDeployments } from '../adapters/postgres/deployments.ts';
import { createDiagnoses } from '../adapters/postgres/diagnoses.ts';
import { createGoldenBaselines } from '../adapters/postgres/golden/golden-baselines.ts';
import { createGoldenBatches } from '../adapters/postgres/golden/golden-batches.ts';
import { createGoldenRotations } from '../adapters/postgres/golden/golden-rotations.ts';
import { createGoldenRuns } from '../adapters/postgres/golden/golden-runs.ts';
import { createGoldenSets } from '../adapters/postgres/golden/golden-sets.ts';
import { createGoldenTicks } from '../adapters/postgres/golden/golden-ticks.ts';
import { storedHashKey } from '../adapters/postgres/hash-key.ts';
import { createLiveTraffic } from '../adapters/postgres/live/live-traffic.ts';
import { createMeasurements } from '../adapters/postgres/measurements.ts';
import { createRetrieverLimits } from '../adapters/postgres/retriever-limits.ts';
import { openJobQueue } from '../adapters/queue/bullmq.ts';
import { createSchedule } from '../adapters/schedule/node-cron.ts';
import { createExporter, type Exporter } from '../adapters/telemetry/prometheus.ts';
import type { Config } from '../contracts/config/schema.ts';
import { jobCatalogue } from '../jobs/catalogue.ts';
import type { IntervalOf } from '../pipeline/checks/check-states.ts';
import type { DensityPlan } from '../pipeline/density/plan.ts';
import { readDensityGauges } from '../pipeline/density/publish-density.ts';
import { readTopicGauges } from '../pipeline/density/publish-topics.ts';
import { readDiagnosisGauges } from '../pipeline/diagnosis/publish-diagnoses.ts';
import { readCheckShifts } from '../pipeline/golden-runs/rotate-golden-set.ts';
import { readStoredGauges } from '../pipeline/publish/publish.ts';
import { readCheckGauges } from '../pipeline/publish/publish-checks.ts';
import { createFeedbackGauges, type FeedbackSource } from '../pipeline/publish/publish-feedback.ts';
import { readLiveMixGauges } from '../pipeline/publish/publish-live-mix.ts';
import { readProbeGauges } from '../pipeline/publish/publish-probes.ts';
import { readScheduleGauges } from '../pipeline/publish/publish-schedule.ts';
import { sharedReading } from '../pipeline/publish/shared-reading.ts';
import type { WatchedPipeline } from '../pipeline/watched-pipeline.ts';
import type { CheckHistory } from '../ports/check-history.ts';
import type { Clock } from '../ports/clock.ts';
import type { DensityStates } from '../ports/density-states.ts';
import type { Deployments } from '../ports/deployments.ts';
import type { Diagnoses } from '../ports/diagnoses.ts';
import type { GoldenBaselines } from '../ports/golden-baselines.ts';
import type { GoldenBatches } from '../ports/golden-batches.ts';
import type { GoldenRotations } from '../ports/golden-rotations.ts';
import type { GoldenRuns } from '../ports/golden-runs.ts';
import type { GoldenSets } from '../ports/golden-sets.ts';
import type { GoldenTicks } from '../ports/golden-ticks.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { LiveTraffic } from '../ports/live-traffic.ts';
import type { Measurements } from '../ports/measurements.ts';
import type { RetrieverLimits } from '../ports/retriever-limits.ts';
import type { Schedule } from '../ports/schedule.ts';
import type { Logger } from '../ports/telemetry.ts';
import type { UncoveredTopics } from '../ports/uncovered-topics.ts';
import type { CleanupStack } from './cleanup-stack.ts';
import { type Compute, openCompute } from './compute.ts';
import { createDensityPlans } from './density-plans.ts';
import { createLiveGauges } from './live-measures.ts';
import { closePipelines, createPipelines } from './pipelines.ts';
import { queueBackend } from './queue-settings.ts';
import { openStorage, type Storage } from './storage.ts';
import { systemClock } from './system-clock.ts';
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
  readonly densityStates: DensityStates;
  readonly topics: UncoveredTopics;
  readonly history: CheckHistory;
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
  const timetable = createTimetable(schedule, clock.now());
  const intervalSeconds = intervalsOf(pipelines, timetable);
  const feedbackGauges = createFeedbackGauges({ traffic, clock, sources: feedbackSources(config) });
  const ofScrape = { latest: sharedReading(() => measurements.latest(clock.now())) };
  const liveGauges = createLiveGauges(config, ofScrape, schedule, clock);
  const deployments = createDeployments(storage.pool);
  const probeGauges = () =>
    readProbeGauges({
      measurements: ofScrape,
      deployments,
      clock,
      pipelines: pipelines.map(({ name }) => name),
    });
  const liveMixGauges = () => readLiveMixGauges({ measurements: ofScrape, clock, pipelines });
  const densityPlans = createDensityPlans(config, pipelines);
  const densityStates = createDensityStates(storage.pool);
  const densityGauges = () =>
    readDensityGauges({
      states: densityStates,
      coverage: createQueryCoverage(storage.pool),
      measurements: ofScrape,
      clock,
      plans: densityPlans,
    });
  const topics = createUncoveredTopics(storage.pool);
  const topicGauges = () => readTopicGauges({ topics, clock, plans: densityPlans });
  const diagnoses = createDiagnoses(storage.pool);
  const diagnosisGauges = () =>
    readDiagnosisGauges({ diagnoses, pipelines: pipelines.map(({ name }) => name) });
  const history = createCheckHistory(storage.pool);
  const checkGauges = () => readCheckGauges({ history, clock, pipelines });
  const exporter = createExporter({
    readStoredGauges: () =>
      readStoredGauges({
        runs,
        queue,
        clock,
        pipelines,
        intervalSeconds,
        scheduleGauges: (latest) =>
          readScheduleGauges({ sets, runs, rotations, ticks, clock, pipelines, timetable }, latest),
        checkShifts: () => readCheckShifts(rotations),
        readMeasured: [
          feedbackGauges,
          liveGauges,
          probeGauges,
          densityGauges,
          topicGauges,
          diagnosisGauges,
          liveMixGauges,
          checkGauges,
        ],
      }),
    clock,
    logger,
    version,
  });
  return {
    config,
    logger,
    clock,
    replica,
    pipelines,
    densityPlans,
    densityStates,
    topics,
    history,
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
