import { expect, it, onTestFinished } from 'vitest';
import { sendMetrics } from '../../../../src/app/serve.ts';
import { systemClock } from '../../../../src/core/system-clock.ts';
import { sample } from '../../../../src/platform/metrics/meter.ts';
import { createOtlpEndpoint } from '../../../../src/platform/metrics/otlp.ts';
import { createExporter } from '../../../../src/platform/metrics/prometheus.ts';
import { recordLog, silentLogger } from '../../../support/log.ts';
import { attributesOf, decodeMetrics, startOtlpReceiver } from '../../../support/otlp-receiver.ts';

function anExporter() {
  const set = { pipeline: 'faq', golden_set: 'support' };
  const scores = { ...set, segment: 'all', k: '10' };
  const kept = [sample('recalld_golden_ndcg', scores, 0.75)];
  const exporter = createExporter({
    readStoredGauges: async () => () => ({
      current: [
        sample('recalld_golden_run_duration_seconds', set, 2.5),
        sample('recalld_golden_ticks_skipped_total', { ...set, purpose: 'full', reason: 'quiet' }, 3),
        sample('recalld_golden_rbo', { ...set, k: '10' }, Number.NaN),
      ],
      kept: [{ of: kept, samples: () => kept }],
    }),
    clock: systemClock,
    logger: silentLogger,
    version: '1.2.3',
    buckets: { recalld_query_latency_seconds: [0.1, 1] },
  });
  onTestFinished(() => exporter.close());
  return exporter;
}

function anEndpoint(url: string) {
  const config = { url, headers: { authorization: 'Bearer x' }, timeout_ms: 5000, retries: 0 };
  const endpoint = createOtlpEndpoint(config, { version: '1.2.3', startedAt: systemClock.now() });
  onTestFinished(() => endpoint.close());
  return endpoint;
}

it('exports the same metrics via OTLP as via /metrics, with the same names, labels and values', async () => {
  const exporter = anExporter();
  await exporter.refresh();
  exporter.meter.increment('recalld_queries_total', { pipeline: 'faq', outcome: 'ok' }, 7);
  for (const seconds of [0.05, 0.05, 0.5, 9])
    exporter.meter.observe('recalld_query_latency_seconds', { pipeline: 'faq' }, seconds);
  const receiver = await startOtlpReceiver();
  const endpoint = anEndpoint(receiver.url);
  const stop = sendMetrics(3600, { endpoint, exporter, clock: systemClock, logger: silentLogger });
  await stop();

  expect(receiver.paths).toEqual(['POST /otlp/v1/metrics Bearer x']);
  const decoded = decodeMetrics(receiver.bodies[0] ?? '');
  const metrics = new Map(decoded.metrics.map((metric) => [metric.name, metric]));
  expect(attributesOf(decoded.resource)).toMatchObject({ 'service.name': 'recalld', 'service.version': '1.2.3' });
  const [ndcg] = metrics.get('recalld_golden_ndcg')?.gauge?.dataPoints ?? [];
  expect(ndcg).toMatchObject({ asDouble: 0.75 });
  expect(attributesOf(ndcg ?? { attributes: [] })).toEqual({
    pipeline: 'faq',
    golden_set: 'support',
    segment: 'all',
    k: '10',
  });
  const queries = metrics.get('recalld_queries_total')?.sum;
  expect(queries).toMatchObject({ isMonotonic: true, dataPoints: [{ asDouble: 7 }] });
  expect(Number(queries?.dataPoints[0]?.startTimeUnixNano)).toBeGreaterThan(0);
  // The database has counted skipped ticks since before this process started, so no start time is exported.
  const skipped = metrics.get('recalld_golden_ticks_skipped_total')?.sum?.dataPoints[0];
  expect(skipped).toMatchObject({ asDouble: 3 });
  expect(skipped).not.toHaveProperty('startTimeUnixNano');
  const [latency] = metrics.get('recalld_query_latency_seconds')?.histogram?.dataPoints ?? [];
  expect(latency).toMatchObject({ count: '4', bucketCounts: ['2', '1', '1'], explicitBounds: [0.1, 1] });
  expect(latency?.sum).toBeCloseTo(9.6, 9);
  expect(metrics.has('recalld_golden_rbo')).toBe(false);

  const text = Buffer.concat(await exporter.scrape()).toString('utf8');
  const shown = [...text.matchAll(/^# TYPE (recalld_\w+)/gm)].flatMap(([, name = '']) =>
    new RegExp(`^${name}(_bucket|_sum|_count)?[{ ]`, 'm').test(text) ? [name] : [],
  );
  expect(shown.length).toBeGreaterThan(5);
  expect(shown.filter((name) => !metrics.has(name))).toEqual([]);
});

it('logs a failed export once, and logs when exports succeed again', async () => {
  const exporter = anExporter();
  const half = '{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too old"}}';
  const receiver = await startOtlpReceiver([503, '{}'], [200, half], [200, '']);
  const { logger, entries } = recordLog();
  let turns = 0;
  const clock = {
    ...systemClock,
    sleep: async (_ms: number, signal: AbortSignal) => {
      turns += 1;
      if (turns <= 3) return;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  };
  const stop = sendMetrics(1, { endpoint: anEndpoint(receiver.url), exporter, clock, logger });
  await expect.poll(() => entries.length).toBe(2);
  await stop();
  expect(entries.map(({ message: logged }) => logged)).toEqual([
    'could not send metrics via OTLP',
    'metrics are being sent via OTLP again',
  ]);
});
