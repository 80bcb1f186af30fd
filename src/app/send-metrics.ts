/** Sends what /metrics shows to a collector, where the config asks for it. */
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { toOtlpMetrics } from '../metrics/otlp.ts';
import type { OtlpEndpoint } from '../metrics/otlp-endpoint.ts';
import type { Exporter } from '../metrics/prometheus.ts';

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
