/** Everything the daemon works with, opened in order: database, queue, schedule, exporter. Knows the adapters. */
import { hostname } from 'node:os';
import { createGoldenRuns } from '../adapters/postgres/golden-runs.ts';
import { createGoldenSets } from '../adapters/postgres/golden-sets.ts';
import { storedHashKey } from '../adapters/postgres/hash-key.ts';
import { createLiveTraffic } from '../adapters/postgres/live-traffic.ts';
import type { BackendSettings } from '../adapters/queue/backends.ts';
import { openJobQueue } from '../adapters/queue/bullmq.ts';
import { createSchedule } from '../adapters/schedule/node-cron.ts';
import { createExporter, type Exporter } from '../adapters/telemetry/prometheus.ts';
import type { Config } from '../contracts/config/schema.ts';
import { jobCatalogue } from '../jobs/catalogue.ts';
import { readStoredGauges } from '../pipeline/publish.ts';
import { createFeedbackGauges } from '../pipeline/publish-feedback.ts';
import type { WatchedPipeline } from '../pipeline/watched-pipeline.ts';
import type { Clock } from '../ports/clock.ts';
import type { GoldenRuns } from '../ports/golden-runs.ts';
import type { GoldenSets } from '../ports/golden-sets.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { LiveTraffic } from '../ports/live-traffic.ts';
import type { Schedule } from '../ports/schedule.ts';
import type { Logger } from '../ports/telemetry.ts';
import type { CleanupStack } from './cleanup-stack.ts';
import { createPipelines } from './pipelines.ts';
import { openStorage, type Storage } from './storage.ts';
import { systemClock } from './system-clock.ts';
import { version } from './version.ts';

export interface Dependencies {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Names this process among those that share the database. */
  readonly replica: string;
  readonly pipelines: readonly WatchedPipeline[];
  readonly storage: Storage;
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  readonly traffic: LiveTraffic;
  readonly queue: JobQueue;
  readonly schedule: Schedule;
  readonly exporter: Exporter;
  /** Key of the hashes that stand for people. */
  readonly hashKey: string;
}

/** @throws RecalldError as openStorage and openJobQueue, and config_invalid for a retriever that cannot be built */
export async function openDependencies(
  config: Config,
  logger: Logger,
  cleanups: CleanupStack,
  signal: AbortSignal,
): Promise<Dependencies> {
  const clock = systemClock;
  const replica = `${hostname()}-${process.pid}`;
  const pipelines = createPipelines(config);
  const storage = await openStorage({ config, purpose: 'daemon', logger, cleanups, signal });
  const runs = createGoldenRuns(storage.pool);
  const traffic = createLiveTraffic(storage.pool, replica);
  await traffic.createPartitions(clock.now());
  const hashKey = config.storage.hash_key ?? (await storedHashKey(storage.pool));
  const queue = await openJobQueue({ backend: queueBackend(config, storage), jobs: jobCatalogue, logger });
  cleanups.defer('job queue', () => queue.close());
  const schedule = createSchedule(logger);
  cleanups.defer('schedule', () => schedule.stop());
  const intervalSeconds = longestGaps(pipelines, schedule, clock);
  const feedbackGauges = createFeedbackGauges({
    traffic,
    clock,
    sources: config.pipelines.map(({ name, segments }) => ({
      pipeline: name,
      segmentKeys: segments.keys,
      maxSegments: segments.max,
    })),
  });
  const exporter = createExporter({
    readStoredGauges: () =>
      readStoredGauges({ runs, queue, clock, pipelines, intervalSeconds, feedbackGauges }),
    clock,
    logger,
    version,
  });
  const sets = createGoldenSets(storage.pool);
  return {
    config,
    logger,
    clock,
    replica,
    pipelines,
    storage,
    sets,
    runs,
    traffic,
    queue,
    schedule,
    exporter,
    hashKey,
  };
}

/** Where the config keeps the jobs. */
export function queueBackend(config: Config, storage: Storage): BackendSettings {
  return config.queue.backend === 'redis'
    ? { kind: 'redis', url: config.queue.url }
    : { kind: 'postgres', connection: storage.connection };
}

/** Gaps of the schedules, reckoned once: they are a property of the cron expression. */
function longestGaps(
  pipelines: readonly WatchedPipeline[],
  schedule: Schedule,
  clock: Clock,
): (pipeline: string, set: string) => number | null {
  const gaps = new Map<string, number>();
  for (const pipeline of pipelines) {
    for (const { set, cron } of pipeline.golden) {
      if (cron === null) continue;
      gaps.set(
        `${pipeline.name} ${set}`,
        schedule.longestGapSeconds(cron.expression, cron.timezone, clock.now()),
      );
    }
  }
  return (pipeline, set) => gaps.get(`${pipeline} ${set}`) ?? null;
}
