import { existsSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { createCleanupStack } from '../core/cleanup-stack.ts';
import { RecalldError } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { watchConfig } from '../incidents/diagnosis/config-parts.ts';
import { retentionDaysOf } from '../live/live-jobs.ts';
import { type OtlpEndpoint, toOtlpMetrics } from '../platform/metrics/otlp.ts';
import { type Exporter, watchEventLoop } from '../platform/metrics/prometheus.ts';
import { clusterOf } from '../platform/postgres/embedded/data-dir.ts';
import { compareClocks } from '../platform/postgres/pool.ts';
import { endsWithin, orAborted } from '../platform/threads/wait.ts';
import { watchClock } from './clock-watch.ts';
import type { CommandSettings } from './commands/command-store.ts';
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

export type MonitorRequest = CommandSettings & { readonly roles: readonly Role[] };

export type Monitor = Awaited<ReturnType<typeof startMonitor>>;

/** Starts the daemon. If a step fails, closes what is already open. `signal` aborts a start that is in progress. */
export async function startMonitor({ config, roles: active, logger, signal }: MonitorRequest) {
  const cleanups = createCleanupStack(logger);
  try {
    const name = `recalld ${active.join('+')}`;
    const context = await openDependencies({ config, name, logger, cleanups, signal });
    const { clock, storage, exporter, meter, otlp: endpoint } = context;
    const { otlp } = config.metrics;
    if (endpoint !== null && otlp?.send.includes('metrics') === true)
      cleanups.defer('metrics via OTLP', sendMetrics(otlp.interval_seconds, { endpoint, exporter, clock, logger }));
    const stopWatching = watchEventLoop(meter, (seconds) =>
      // On Windows the load average is always 0.
      context.ownLag.record(seconds, (loadavg()[0] ?? 0) / availableParallelism()),
    );
    cleanups.defer('event loop watch', async () => stopWatching());
    const clockWatch = await watchClock(context, () => compareClocks(storage.pool, clock));
    cleanups.defer('clock watch', () => clockWatch.stop());
    const http = await startHttp(context, active.includes('api'), clockWatch.problem, cleanups);
    const ends = [() => http.drain()];
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
    await readStoredGaugesFirst(context, signal);
    http.markReady();
    return {
      /** Base URL for /metrics, /livez and /readyz. */
      url: http.url,
      /** Closes everything in reverse order. Runs once. */
      stop: () => cleanups.run(),
      /** Returns a description of what the shutdown is waiting for. */
      pending: () => describePending(http.runningRequests(), context.queue.running(), cleanups.closing),
    };
  } catch (error) {
    await cleanups.run();
    throw error;
  }
}

const FIRST_READING_MS = 2000;

/**
 * Waits for the first read of the stored gauges, so that firing alerts keep firing after a restart. If the database is
 * slow, gives up after `FIRST_READING_MS`.
 */
async function readStoredGaugesFirst({ exporter }: Daemon, signal: AbortSignal): Promise<void> {
  await endsWithin(orAborted(exporter.refresh(), signal), FIRST_READING_MS).catch(() => undefined);
}

function describePending(requests: number, jobs: readonly string[], closing: string | null): string {
  const parts = [
    ...(requests === 0 ? [] : [plural(requests, 'request')]),
    ...(jobs.length === 0 ? [] : [`the jobs ${[...jobs].toSorted().join(', ')}`]),
  ];
  return parts.length === 0 ? (closing ?? 'nothing') : parts.join(' and ');
}

/**
 * Sends metrics after each interval, and once more at the end. Does not repeat a failed request, because all values are
 * cumulative. Logs when sending starts to fail and when it works again.
 *
 * @returns a function that stops sending; it resolves when the last request completes or times out
 */
export function sendMetrics(
  intervalSeconds: number,
  {
    endpoint,
    exporter,
    clock,
    logger,
  }: Pick<Daemon, 'clock' | 'logger'> & { readonly endpoint: OtlpEndpoint; readonly exporter: Pick<Exporter, 'read'> },
): () => Promise<void> {
  const ending = new AbortController();
  let isFailing = false;
  const send = async (): Promise<void> => {
    const refusal = await endpoint.send(
      'metrics',
      toOtlpMetrics(await exporter.read(), endpoint.reporter, clock.now()),
    );
    if (refusal !== null && !isFailing) logger.error('could not send metrics via OTLP', { reason: refusal.reason });
    if (refusal === null && isFailing) logger.info('metrics are being sent via OTLP again');
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

/**
 * Maximum growth of the heap, in percent of the size of the live objects. By default, V8 under load lets the heap grow
 * to a multiple of this size.
 */
const HEAP_GROWING_PERCENT = 50;

/**
 * Runs until `signal` aborts. @throws RecalldError if the daemon cannot start; stop_overdue if the daemon does not stop
 * in time
 */
export async function serve(
  configFile: string | undefined,
  roles: readonly Role[],
  signal: AbortSignal,
): Promise<void> {
  const startedAt = performance.now();
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  const { config, file } = loadConfigOfDatabase(configFile);
  const logger = createLogger(config.log.level);
  if (file === null)
    logger.info('there is no recalld.yaml; the config is read from the environment and has no pipelines');
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
  await aborted(signal);
  logger.info('recalld is stopping');
  await stopInTime(monitor, config.server.shutdown_seconds);
  logger.info('recalld has stopped');
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Exits before the supervisor kills the process, so that the log states the reason.
 *
 * @throws RecalldError stop_overdue
 */
async function stopInTime(monitor: Monitor, seconds: number): Promise<void> {
  if (await endsWithin(monitor.stop(), seconds * 1000)) return;
  const message = `The daemon did not stop within ${seconds} s and is exiting, although it is still waiting for ${monitor.pending()}. Accepted data is not lost, and jobs continue on another replica or after the next start. Raise server.shutdown_seconds to allow more time.`;
  throw new RecalldError('stop_overdue', message);
}

/** If an embedded database is unused, returns a warning with the steps to move its data; otherwise null. */
export function orphanedDataDir({ storage }: Config): string | null {
  if (storage.url === 'embedded') return null;
  const cluster = clusterOf(path.resolve(storage.data_dir));
  if (!existsSync(path.join(cluster, 'PG_VERSION'))) return null;
  return `${storage.data_dir} contains an embedded database that this config does not use. To copy it into the PostgreSQL server in storage.url, run deploy/postgres/move-embedded.sh (deploy/README.md). Then remove the folder. If you do not need its data, remove the folder without copying it.`;
}
