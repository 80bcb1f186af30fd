/** The classes that read it are generated from the official opentelemetry-proto. */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { sendMetrics } from '../../../src/app/send-metrics.ts';
import { sample } from '../../../src/metrics/meter.ts';
import { createExporter } from '../../../src/metrics/prometheus.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { recordLog, silentLogger } from '../../support/log.ts';

interface Point {
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano: string;
  readonly asDouble?: number;
  readonly count?: string;
  readonly sum?: number;
  readonly bucketCounts?: readonly string[];
  readonly explicitBounds?: readonly number[];
}

interface Metric {
  readonly name: string;
  readonly description: string;
  readonly gauge?: { readonly dataPoints: readonly Point[] };
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly Point[] };
  readonly histogram?: { readonly dataPoints: readonly Point[] };
}

interface Message {
  verify(value: object): string | null;
  fromObject(value: object): object;
  encode(value: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(value: object, options: object): object;
}

const require = createRequire(import.meta.url);
const file = require.resolve('otlp-proto').replace(/build\/.*$/, 'build/src/generated/root.js');
const { opentelemetry } = require(file) as {
  opentelemetry: {
    proto: { collector: { metrics: { v1: { ExportMetricsServiceRequest: Message } } } };
  };
};
const message = opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;

/** What an OTLP receiver keeps of a request in JSON: all that it does not know is lost on the way. */
function decode(json: string) {
  const bytes = message.encode(message.fromObject(JSON.parse(json) as object)).finish();
  const decoded = message.toObject(message.decode(bytes), { longs: String }) as {
    resourceMetrics: [{ resource: Pick<Point, 'attributes'>; scopeMetrics: [{ metrics: readonly Metric[] }] }];
  };
  const [{ resource, scopeMetrics }] = decoded.resourceMetrics;
  const metrics = new Map(scopeMetrics[0].metrics.map((metric) => [metric.name, metric]));
  return { labels: labelsOf(resource), metrics };
}

const labelsOf = ({ attributes }: Pick<Point, 'attributes'>) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));

/** An OTLP receiver on loopback; the first requests get the statuses. */
async function aReceiver(...statuses: number[]) {
  const bodies: string[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString('utf8'));
      paths.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      response.writeHead(statuses.shift() ?? 200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/otlp`, bodies, paths };
}

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

const otlp = { headers: { authorization: 'Bearer x' }, timeout_ms: 5000, retries: 0 };

it('what /metrics shows goes out by OTLP, with the same names, labels and values', async () => {
  const exporter = anExporter();
  await exporter.refresh();
  exporter.meter.increment('recalld_queries_total', { pipeline: 'faq', outcome: 'ok' }, 7);
  for (const seconds of [0.05, 0.05, 0.5, 9])
    exporter.meter.observe('recalld_query_latency_seconds', { pipeline: 'faq' }, seconds);
  const receiver = await aReceiver();
  const config = { ...otlp, url: receiver.url, interval_seconds: 3600 };
  const stop = sendMetrics(config, { exporter, clock: systemClock, logger: silentLogger, version: '1.2.3' });
  await stop();

  expect(receiver.paths).toEqual(['POST /otlp/v1/metrics Bearer x']);
  const { labels, metrics } = decode(receiver.bodies[0] ?? '');
  expect(labels).toMatchObject({ 'service.name': 'recalld', 'service.version': '1.2.3' });
  const [ndcg] = metrics.get('recalld_golden_ndcg')?.gauge?.dataPoints ?? [];
  expect(ndcg).toMatchObject({ asDouble: 0.75 });
  expect(labelsOf(ndcg ?? { attributes: [] })).toEqual({
    pipeline: 'faq',
    golden_set: 'support',
    segment: 'all',
    k: '10',
  });
  const queries = metrics.get('recalld_queries_total')?.sum;
  expect(queries).toMatchObject({ isMonotonic: true, dataPoints: [{ asDouble: 7 }] });
  expect(Number(queries?.dataPoints[0]?.startTimeUnixNano)).toBeGreaterThan(0);
  // It is counted in the database, since before this process.
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

it('says once that it cannot be sent, and when it is again', async () => {
  const exporter = anExporter();
  const receiver = await aReceiver(503, 503);
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
  const config = { ...otlp, url: receiver.url, interval_seconds: 1 };
  const stop = sendMetrics(config, { exporter, clock, logger, version: '1.2.3' });
  await expect.poll(() => receiver.bodies.length).toBe(3);
  await stop();
  expect(entries.map(({ message: said }) => said)).toEqual([
    'metrics are not sent by OTLP',
    'metrics are sent by OTLP again',
  ]);
});
