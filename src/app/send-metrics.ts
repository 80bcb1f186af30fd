/** Sends what /metrics shows to a collector, where the config asks for it. */
import { hostname } from 'node:os';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { toOtlpMetrics } from '../metrics/otlp.ts';
import type { Exporter } from '../metrics/prometheus.ts';
import { createJsonApi } from '../outbound/json-api.ts';
import { createServiceSettings } from '../outbound/service-settings.ts';
import type { Config } from './config/schema.ts';

interface SenderDeps {
  readonly exporter: Pick<Exporter, 'read'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

/**
 * Begins after one interval, and sends once more at the end. What fails is not kept: the next sending says it all, since
 * everything is cumulative. The log says when it begins to fail and when it is well again.
 *
 * @returns ends it; waits for the last sending, no longer than its time-out
 * @throws RecalldError config_invalid
 */
export function sendMetrics(
  config: NonNullable<Config['metrics']['otlp']>,
  { exporter, clock, logger, version }: SenderDeps,
): () => Promise<void> {
  const identity = { service: 'The OTLP endpoint', configField: 'metrics.otlp' };
  const api = createJsonApi(createServiceSettings({ ...config, max_per_second: 100 }, identity));
  const reporter = { instance: `${hostname()}:${process.pid}`, version, startedAt: clock.now() };
  const ending = new AbortController();
  let isFailing = false;
  const send = async (): Promise<void> => {
    const body = toOtlpMetrics(await exporter.read(), reporter, clock.now());
    const call = { method: 'POST', path: '/v1/metrics', body, purpose: 'metrics' } as const;
    const answer = await api.call(call, AbortSignal.timeout(config.timeout_ms * (config.retries + 1)));
    if (answer.kind === 'failed' && !isFailing)
      logger.error('metrics are not sent by OTLP', { reason: answer.message });
    if (answer.kind === 'answer' && isFailing) logger.info('metrics are sent by OTLP again');
    isFailing = answer.kind === 'failed';
  };
  const tried = async (): Promise<void> => {
    try {
      await send();
    } catch {
      if (!isFailing) logger.error('metrics are not sent by OTLP', { reason: 'it takes too long' });
      isFailing = true;
    }
  };
  const running = (async () => {
    while (!ending.signal.aborted) {
      await clock.sleep(config.interval_seconds * 1000, ending.signal).catch(() => undefined);
      await tried();
    }
  })();
  return async () => {
    ending.abort();
    await running;
    api.close();
  };
}
