/** The daemon: config in, a running monitor out. The one place that knows every adapter; stopping mirrors starting. */
import { hostname } from 'node:os';
import { createApiKeys } from '../adapters/postgres/api-keys.ts';
import { createGoldenRuns } from '../adapters/postgres/golden-runs.ts';
import { createGoldenSets } from '../adapters/postgres/golden-sets.ts';
import { storedHashKey } from '../adapters/postgres/hash-key.ts';
import { createLiveTraffic } from '../adapters/postgres/live-traffic.ts';
import type { BackendSettings } from '../adapters/queue/backends.ts';
import { openJobQueue } from '../adapters/queue/bullmq.ts';
import { createSchedule } from '../adapters/schedule/node-cron.ts';
import { createExporter } from '../adapters/telemetry/prometheus.ts';
import type { Config } from '../contracts/config/schema.ts';
import type { RecalldError } from '../core/errors.ts';
import type { Unready } from '../http/operations.ts';
import { type HttpDeps, startHttpServer } from '../http/server.ts';
import { jobCatalogue, runGoldenSetJob } from '../jobs/catalogue.ts';
import { createJobRunner } from '../jobs/run-job.ts';
import { readStoredGauges } from '../pipeline/publish.ts';
import { createFeedbackGauges } from '../pipeline/publish-feedback.ts';
import type { WatchedPipeline } from '../pipeline/watched-pipeline.ts';
import type { GoldenRun } from '../ports/golden-runs.ts';
import type { Schedule } from '../ports/schedule.ts';
import type { Logger } from '../ports/telemetry.ts';
import { type CleanupStack, createCleanupStack } from './cleanup-stack.ts';
import { createErasure } from './erasure.ts';
import { createLiveIngest } from './live-ingest.ts';
import { createOtlpReceiver } from './otlp-receiver.ts';
import { createPipelines, findPipeline } from './pipelines.ts';
import { newRunId } from './run-id.ts';
import { startScheduler } from './scheduler.ts';
import { openStorage, type Storage } from './storage.ts';
import { systemClock } from './system-clock.ts';
import { version } from './version.ts';

export type Role = 'api' | 'worker' | 'scheduler';

export const roles: readonly Role[] = ['api', 'worker', 'scheduler'];

export interface MonitorSettings {
  readonly config: Config;
  readonly roles: readonly Role[];
  readonly logger: Logger;
  /** Stops a start that is under way. */
  readonly signal: AbortSignal;
}

export interface Monitor {
  /** Where /metrics, /livez and /readyz answer. */
  readonly url: string;
  /** Resolves with the reason when the monitor cannot go on. */
  readonly lost: Promise<RecalldError>;
  /** Gives everything back, last opened first. Runs once. */
  stop(): Promise<void>;
}

/** Opens everything in order; when a step fails, what was opened before is closed again. */
export async function startMonitor(settings: MonitorSettings): Promise<Monitor> {
  const cleanups = createCleanupStack(settings.logger);
  try {
    const { url, lost } = await open(settings, cleanups);
    return { url, lost, stop: () => cleanups.run() };
  } catch (error) {
    await cleanups.run();
    throw error;
  }
}

async function open(
  { config, roles: active, logger, signal }: MonitorSettings,
  cleanups: CleanupStack,
): Promise<Pick<Monitor, 'url' | 'lost'>> {
  const clock = systemClock;
  const replica = `${hostname()}-${process.pid}`;
  const pipelines = createPipelines(config);
  const storage = await openStorage({ config, purpose: 'daemon', logger, cleanups, signal });
  const sets = createGoldenSets(storage.pool);
  const runs = createGoldenRuns(storage.pool);
  const queue = await openJobQueue({ backend: queueBackend(config, storage), jobs: jobCatalogue, logger });
  cleanups.defer('job queue', () => queue.close());
  const schedule = createSchedule(logger);
  const intervalSeconds = createIntervals(pipelines, schedule);

  const traffic = createLiveTraffic(storage.pool, replica);
  await traffic.createPartitions(clock.now());
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

  const hashKey = config.storage.hash_key ?? (await storedHashKey(storage.pool));
  const ingest = active.includes('api')
    ? await createLiveIngest({ config, traffic, clock, meter: exporter.meter, hashKey })
    : null;

  if (active.includes('worker')) {
    const shutdown = new AbortController();
    const resume = (run: GoldenRun): Promise<void> => {
      const minute = Math.floor(clock.now().getTime() / 60_000);
      return queue.enqueue(runGoldenSetJob.name, { run_id: run.id }, `${run.id}-resumed-${minute}`);
    };
    const isWatched = (name: string): boolean => pipelines.some((pipeline) => pipeline.name === name);
    const jobDeps = {
      sets,
      runs,
      clock,
      logger,
      holder: replica,
      traffic,
      retentionDays: new Map(config.pipelines.map(({ name, privacy }) => [name, privacy.retention_days])),
      recover: { runs, clock, logger, isWatched, resume },
      findPipeline: (name: string) => (isWatched(name) ? findPipeline(pipelines, name) : null),
    };
    await queue.work(
      createJobRunner({ jobDeps, clock, logger, meter: exporter.meter, shutdown: shutdown.signal }),
    );
    // Work in hand is put down, not finished: it is stored as far as it went and goes on after the next start.
    cleanups.defer('workers', () => {
      shutdown.abort(new Error('the daemon stops'));
      return queue.drain();
    });
  }

  let stopping = false;
  const unready = async (): Promise<Unready[]> =>
    stopping ? [{ name: 'daemon', reason: 'it is stopping' }] : unreadyServices(storage);
  const operations = { metrics: exporter, unready };
  const onShed: HttpDeps['onShed'] = (reason) =>
    exporter.meter.increment('recalld_ingest_shed_total', { reason });
  const url = await serveHttp(config, cleanups, {
    logger,
    operations,
    version,
    api:
      ingest === null
        ? null
        : {
            ...ingest,
            ...createErasure(traffic, hashKey),
            receive: createOtlpReceiver(config, ingest, exporter.meter),
            maxRequestsPerMinute: config.server.max_requests_per_minute,
            onShed,
            onRejected: (code) => exporter.meter.increment('recalld_ingest_rejected_total', { code }),
            authentication: { keys: createApiKeys(storage.pool), optional: keysAreOptional(config) },
          },
    onShed,
  });

  cleanups.defer('schedule', () => schedule.stop());
  if (ingest !== null) {
    schedule.every('50 * * * * *', 'UTC', () => {
      ingest
        .refresh()
        .catch((error: unknown) =>
          logger.warn('the number of replicas could not be read', { reason: String(error) }),
        );
    });
  }
  if (active.includes('scheduler')) {
    await startScheduler({ sets, runs, clock, newRunId, schedule, queue, logger, pipelines });
  }
  cleanups.defer('readiness', () => {
    stopping = true;
  });
  return { url, lost: storage.lost };
}

/** One server, or one for the API and one for operations when `metrics_port` keeps them apart. @returns where operations answer */
async function serveHttp(config: Config, cleanups: CleanupStack, deps: HttpDeps): Promise<string> {
  const { host, port, metrics_port: metricsPort } = config.server;
  const servers =
    metricsPort === null
      ? [{ deps, port, setting: 'server.port' }]
      : [
          { deps: { ...deps, operations: null }, port, setting: 'server.port' },
          { deps: { ...deps, api: null }, port: metricsPort, setting: 'server.metrics_port' },
        ];
  let url = '';
  for (const server of servers) {
    const started = await startHttpServer(server.deps, { host, port: server.port }, server.setting);
    cleanups.defer(`HTTP server of ${server.setting}`, () => started.close());
    url = started.url;
  }
  return url;
}

/** Only a daemon that nobody else can reach, on a database of its own, trusts every caller. */
function keysAreOptional({ server, storage }: Config): boolean {
  return storage.url === 'embedded' && ['127.0.0.1', '::1', 'localhost'].includes(server.host);
}

export function queueBackend(config: Config, storage: Storage): BackendSettings {
  return config.queue.backend === 'redis'
    ? { kind: 'redis', url: config.queue.url }
    : { kind: 'postgres', connection: storage.connection };
}

/** Gaps of the schedules, reckoned once: they are a property of the cron expression. */
function createIntervals(
  pipelines: readonly WatchedPipeline[],
  schedule: Schedule,
): (pipeline: string, set: string) => number | null {
  const gaps = new Map<string, number>();
  for (const pipeline of pipelines) {
    for (const { set, cron } of pipeline.golden) {
      if (cron === null) continue;
      gaps.set(
        `${pipeline.name} ${set}`,
        schedule.longestGapSeconds(cron.expression, cron.timezone, systemClock.now()),
      );
    }
  }
  return (pipeline, set) => gaps.get(`${pipeline} ${set}`) ?? null;
}

async function unreadyServices(storage: Storage): Promise<Unready[]> {
  try {
    await withinSeconds(2, storage.pool.query('select 1'));
    return [];
  } catch (error) {
    return [{ name: 'database', reason: error instanceof Error ? error.message : String(error) }];
  }
}

async function withinSeconds<T>(seconds: number, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = systemClock.sleep(seconds * 1000, timer.signal).then(() => {
    throw new Error(`no answer within ${seconds} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}
