/** The daemon: config in, a running monitor out. Stopping mirrors starting. */
import { createCleanupStack } from '../cleanup-stack.ts';
import type { Clock } from '../clock.ts';
import { newRunId } from '../golden/runs/start-golden-run.ts';
import type { Logger } from '../logger.ts';
import { watchEventLoop } from '../metrics/event-loop-lag.ts';
import { toOtlpMetrics } from '../metrics/otlp.ts';
import type { OtlpEndpoint } from '../metrics/otlp-endpoint.ts';
import type { Exporter } from '../metrics/prometheus.ts';
import { lookAtClocks } from '../postgres/pool.ts';
import { watchClock } from './clock-watch.ts';
import type { Config } from './config/schema.ts';
import { type Dependencies, openDependencies } from './dependencies.ts';
import { startHttp } from './http-surface.ts';
import { startScheduler } from './scheduler.ts';
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
    const dependencies = await openDependencies({ config, name, logger, cleanups, signal });
    const { clock, storage, exporter, otlp: endpoint } = dependencies;
    const { meter } = exporter;
    const { otlp } = config.metrics;
    if (endpoint !== null && otlp?.send.includes('metrics') === true)
      cleanups.defer('metrics by OTLP', sendMetrics(otlp.interval_seconds, { endpoint, exporter, clock, logger }));
    const stopWatching = watchEventLoop(meter);
    cleanups.defer('event loop watch', async () => stopWatching());
    const clockWatch = await watchClock({
      clock,
      logger,
      meter,
      look: () => lookAtClocks(storage.pool, clock),
    });
    cleanups.defer('clock watch', () => clockWatch.stop());
    const face = await startHttp(dependencies, active.includes('api'), clockWatch, cleanups);
    const ends = [() => face.drain()];
    cleanups.defer('ticks, requests and jobs', async () => {
      await Promise.all(ends.map((end) => end()));
    });
    if (active.includes('worker')) {
      const workers = await startWorkers(dependencies, clockWatch);
      ends.push(() => workers.releaseJobs());
    }
    if (active.includes('scheduler')) {
      const scheduler = startScheduler({ ...dependencies, meter, clockWatch, newRunId });
      ends.push(() => scheduler.stop());
    }
    await showsWhatIsStored(dependencies, signal);
    face.markReady();
    return {
      url: face.url,
      stop: () => cleanups.run(),
      left: () => wordsFor(face.requestsUnderWay(), dependencies.queue.inHand(), cleanups.closing),
    };
  } catch (error) {
    await cleanups.run();
    throw error;
  }
}

/** Longest that a start waits for the first reading of what is stored. */
const FIRST_READING_MS = 2000;

/** So that no gauge is missing after a restart, and an alert that fires goes on. A slow database keeps nobody from work. */
async function showsWhatIsStored({ exporter, clock }: Dependencies, signal: AbortSignal): Promise<void> {
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
