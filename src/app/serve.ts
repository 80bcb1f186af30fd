/** The daemon from start to stop: config in, a running monitor out. Stopping mirrors starting. */
import { existsSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { createCleanupStack } from '../core/cleanup-stack.ts';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Clock } from '../core/time.ts';
import { watchConfig } from '../incidents/diagnosis/config-parts.ts';
import { retentionDaysOf } from '../live/live-jobs.ts';
import { type OtlpEndpoint, toOtlpMetrics } from '../platform/metrics/otlp.ts';
import { type Exporter, watchEventLoop } from '../platform/metrics/prometheus.ts';
import { clusterOf } from '../platform/postgres/embedded/data-dir.ts';
import { lookAtClocks } from '../platform/postgres/pool.ts';
import { watchClock } from './clock-watch.ts';
import { loadConfigOfDatabase } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { type Daemon, openDependencies } from './dependencies.ts';
import { startHttp } from './http-surface.ts';
import { startScheduler } from './jobs.ts';
import { createLogger } from './logger.ts';
import { version } from './version.ts';
import { startWorkers } from './workers.ts';

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
  /** Gives everything back, last opened first. Runs once. */
  stop(): Promise<void>;
  /** What a stop still waits for, in words. */
  left(): string;
}

/** Opens everything in order; when a step fails, what was opened before is closed again. */
export async function startMonitor({ config, roles: active, logger, signal }: MonitorSettings): Promise<Monitor> {
  const cleanups = createCleanupStack(logger);
  try {
    const name = `recalld ${active.join('+')}`;
    const context = await openDependencies({ config, name, logger, cleanups, signal });
    const { clock, storage, exporter, meter, otlp: endpoint } = context;
    const { otlp } = config.metrics;
    if (endpoint !== null && otlp?.send.includes('metrics') === true)
      cleanups.defer('metrics by OTLP', sendMetrics(otlp.interval_seconds, { endpoint, exporter, clock, logger }));
    const stopWatching = watchEventLoop(meter, (seconds) =>
      // Windows tells no load, and has 0.
      context.ownLag.record(seconds, (loadavg()[0] ?? 0) / availableParallelism()),
    );
    cleanups.defer('event loop watch', async () => stopWatching());
    const clockWatch = await watchClock({
      clock,
      logger,
      meter,
      look: () => lookAtClocks(storage.pool, clock),
    });
    cleanups.defer('clock watch', () => clockWatch.stop());
    const face = await startHttp(context, active.includes('api'), clockWatch, cleanups);
    const ends = [() => face.drain()];
    cleanups.defer('ticks, requests and jobs', async () => {
      await Promise.all(ends.map((end) => end()));
    });
    if (active.includes('worker')) {
      const workers = await startWorkers(context, clockWatch);
      ends.push(() => workers.releaseJobs());
    }
    if (active.includes('scheduler')) {
      const scheduler = startScheduler({ ...context, clockWatch });
      ends.push(() => scheduler.stop());
      ends.push(
        watchConfig({
          ...context,
          parts: context.db.live.configuredItems,
          pool: storage.pool,
          retentionDays: retentionDaysOf(config),
        }),
      );
    }
    await showsWhatIsStored(context, signal);
    face.markReady();
    return {
      url: face.url,
      stop: () => cleanups.run(),
      left: () => wordsFor(face.requestsUnderWay(), context.queue.inHand(), cleanups.closing),
    };
  } catch (error) {
    await cleanups.run();
    throw error;
  }
}

/** Longest that a start waits for the first reading of what is stored. */
const FIRST_READING_MS = 2000;

/** So that no gauge is missing after a restart, and an alert that fires goes on. A slow database keeps nobody from work. */
async function showsWhatIsStored({ exporter, clock }: Daemon, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const waited = clock.sleep(FIRST_READING_MS, AbortSignal.any([signal, done.signal])).catch(() => undefined);
  await Promise.race([exporter.refresh(), waited]);
  done.abort();
}

function wordsFor(requests: number, jobs: readonly string[], closing: string | null): string {
  const parts = [
    ...(requests === 0 ? [] : [requests === 1 ? '1 request' : `${requests} requests`]),
    ...(jobs.length === 0 ? [] : [`the jobs ${[...jobs].toSorted().join(', ')}`]),
  ];
  return parts.length === 0 ? (closing ?? 'nothing') : parts.join(' and ');
}

interface SenderDeps {
  readonly endpoint: OtlpEndpoint;
  readonly exporter: Pick<Exporter, 'read'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Begins after one interval, and sends once more at the end. What fails is not kept: the next sending says it all, since
 * everything is cumulative. The log says when it begins to fail and when it is well again.
 *
 * @returns ends it; waits for the last sending, no longer than its time-out
 */
export function sendMetrics(
  intervalSeconds: number,
  { endpoint, exporter, clock, logger }: SenderDeps,
): () => Promise<void> {
  const ending = new AbortController();
  let isFailing = false;
  const send = async (): Promise<void> => {
    const refusal = await endpoint.send(
      'metrics',
      toOtlpMetrics(await exporter.read(), endpoint.reporter, clock.now()),
    );
    if (refusal !== null && !isFailing) logger.error('metrics are not sent by OTLP', { reason: refusal.reason });
    if (refusal === null && isFailing) logger.info('metrics are sent by OTLP again');
    isFailing = refusal !== null;
  };
  const running = (async () => {
    while (!ending.signal.aborted) {
      await clock.sleep(intervalSeconds * 1000, ending.signal).catch(() => undefined);
      await send();
    }
  })();
  return async () => {
    ending.abort();
    await running;
  };
}

interface ServeSettings {
  readonly configFile: string | undefined;
  readonly roles: readonly Role[];
  readonly signal: AbortSignal;
}

/**
 * By how much the heap may outgrow what lives in it before it is cleaned. Left to itself V8 lets it grow to a multiple,
 * so that under load a process holds hundreds of megabytes of what nobody needs.
 */
const HEAP_GROWING_PERCENT = 50;

/**
 * Runs until `signal` aborts.
 *
 * @throws RecalldError when it cannot start, and stop_overdue
 */
export async function serve({ configFile, roles, signal }: ServeSettings): Promise<void> {
  const startedAt = performance.now();
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  const { config, file } = loadConfigOfDatabase(configFile);
  const logger = createLogger(config.log.level);
  if (file === null) logger.info('there is no recalld.yaml, so the environment alone is the config: no pipelines');
  const unused = orphanedDataDir(config);
  if (unused !== null) logger.warn(unused);

  const monitor = await startMonitor({ config, roles, logger, signal });
  logger.info('recalld is ready', {
    version,
    url: monitor.url,
    roles,
    pipelines: config.pipelines.length,
    start_ms: Math.round(performance.now() - startedAt),
  });
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  logger.info('recalld is stopping');
  await stopInTime(monitor, config.server.shutdown_seconds);
  logger.info('recalld has stopped');
}

/** Whoever waits for us kills us in the end; to end before is to say why. @throws RecalldError stop_overdue */
async function stopInTime(monitor: Monitor, seconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `The daemon did not end in order within ${seconds} s and ends now, while it waits for ${monitor.left()}; nothing that was accepted is lost, and jobs go on elsewhere or after the next start. server.shutdown_seconds gives it longer.`;
      reject(new RecalldError('stop_overdue', message));
    }, seconds * 1000);
  });
  try {
    await Promise.race([monitor.stop(), overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/** What to say of it, and how its data are moved; null when there is none. */
export function orphanedDataDir({ storage }: Pick<Config, 'storage'>): string | null {
  if (storage.url === 'embedded') return null;
  const cluster = clusterOf(path.resolve(storage.data_dir));
  if (!existsSync(path.join(cluster, 'PG_VERSION'))) return null;
  return `${storage.data_dir} holds an embedded database that this config does not use; deploy/postgres/move-embedded.sh copies it into the PostgreSQL of storage.url, as deploy/README.md tells. Once that is done, or not wanted, remove the folder.`;
}
