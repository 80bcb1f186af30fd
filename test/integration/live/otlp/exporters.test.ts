/** Tests ingestion with the real exporters of OpenTelemetry for JavaScript as clients. */
import {
  type Attributes,
  context,
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { BatchSpanProcessor, NodeTracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { extractLiveQueries } from '../../../../src/live/rules/otel/extract.ts';
import { extractLogFeedback } from '../../../../src/live/rules/otel/feedback.ts';
import { options } from '../../../unit/live/rules/otel/telemetry.ts';
import { type Collector, startCollector } from './collector.ts';

/** `@opentelemetry/otlp-exporter-base` is not one of our dependencies, so its enum is repeated here. */
type ExporterConfig = NonNullable<ConstructorParameters<typeof JsonTraceExporter>[0]>;
type Compression = NonNullable<ExporterConfig['compression']>;
const gzip = 'gzip' as Compression;
const plain = 'none' as Compression;

let collector: Collector;

beforeEach(async () => {
  collector = await startCollector();
});

afterEach(async () => {
  diag.disable();
  await collector.close();
});

const formats = [
  { name: 'protobuf', Exporter: ProtobufTraceExporter, type: 'application/x-protobuf' },
  { name: 'JSON', Exporter: JsonTraceExporter, type: 'application/json' },
] as const;

const exporters = formats.flatMap(({ name, Exporter, type }) => [
  { format: `${name}, plain`, type, encoding: undefined, create: () => new Exporter(to(plain)) },
  { format: `${name}, gzip`, type, encoding: 'gzip', create: () => new Exporter(to(gzip)) },
]);

function to(compression: Compression) {
  return { url: `${collector.url}/v1/traces`, compression, timeoutMillis: 5000 };
}

/** Runs `work` with a tracer and waits until its spans have been exported. */
async function traceWith(
  exporter: SpanExporter,
  work: (tracer: ReturnType<NodeTracerProvider['getTracer']>) => void,
  spanLimits = {},
): Promise<void> {
  const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)], spanLimits });
  work(provider.getTracer('rag-tracer', '4.5.6'));
  // A failed export rejects here; tests of failures inspect the collector's data instead.
  await provider.forceFlush().catch(() => undefined);
  await provider.shutdown();
}

const retrieval: Attributes = {
  'gen_ai.operation.name': 'retrieval',
  'gen_ai.retrieval.query.text': 'naïve “query” 🙂',
  'gen_ai.retrieval.top_k': 2,
  'gen_ai.retrieval.documents': JSON.stringify([
    { id: 'a', score: 1 },
    { id: 'b', score: 0.5 },
  ]),
  'embedding.vector': [0, 1, -0.25],
};

describe.each(exporters)('a span from the $format exporter', ({ create, type, encoding }) => {
  it('is decoded as the service created it', async () => {
    const linked = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), traceFlags: 1 };
    const remote = trace.setSpanContext(ROOT_CONTEXT, {
      traceId: '5b8efff798038103d269b633813fc60c',
      spanId: 'eee19b7ec3c1b174',
      traceFlags: 1,
      isRemote: true,
      traceState: createTraceState('ot=th:8,vendor=x'),
    });
    await traceWith(create(), (tracer) => {
      const span = tracer.startSpan(
        'retrieve',
        { kind: SpanKind.CLIENT, startTime: [1_700_000_000, 123_456_789], links: [{ context: linked }] },
        remote,
      );
      span.setAttributes({
        text: 'ä\u0000🙂',
        empty: '',
        yes: true,
        no: false,
        zero: 0,
        negative: -42,
        large: Number.MAX_SAFE_INTEGER,
        double: 0.1,
        mixed: [1, 0.5, -3],
        words: ['a', ''],
        none: [],
      });
      span.addEvent('found', { 'db.query.result.id': 'a' }, [1_700_000_000, 200_000_000]);
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'no answer' });
      span.end([1_700_000_001, 0]);
    });

    expect(collector.requests).toMatchObject([{ contentType: type, contentEncoding: encoding }]);
    const [span] = collector.spans;
    expect(collector.spans).toHaveLength(1);
    expect(span).toMatchObject({
      traceId: '5b8efff798038103d269b633813fc60c',
      parentSpanId: 'eee19b7ec3c1b174',
      traceState: 'ot=th:8,vendor=x',
      name: 'retrieve',
      startTimeUnixNano: 1_700_000_000_123_456_789n,
      endTimeUnixNano: 1_700_000_001_000_000_000n,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      links: [{ traceId: linked.traceId, spanId: linked.spanId }],
      status: { code: 'error', message: 'no answer' },
      scope: { name: 'rag-tracer', version: '4.5.6' },
    });
    expect(span?.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect({ ...span?.attributes }).toEqual({
      text: 'ä\u0000🙂',
      empty: '',
      yes: true,
      no: false,
      zero: 0,
      negative: -42,
      large: Number.MAX_SAFE_INTEGER,
      double: 0.1,
      mixed: [1, 0.5, -3],
      words: ['a', ''],
      none: [],
    });
    expect(span?.events).toMatchObject([
      { name: 'found', timeUnixNano: 1_700_000_000_200_000_000n, attributes: { 'db.query.result.id': 'a' } },
    ]);
    expect(span?.resource.serviceName).toMatch(/^unknown_service/);
    expect(span?.resource.attributes).toMatchObject({ 'telemetry.sdk.language': 'nodejs' });
  });

  it('becomes a live query, with the session and the user of its parent span', async () => {
    await traceWith(create(), (tracer) => {
      const root = tracer.startSpan('chain', { attributes: { 'session.id': 's', 'user.id': 'u' } });
      const inside = trace.setSpan(context.active(), root);
      tracer.startSpan('retrieval kb', { attributes: retrieval }, inside).end();
      root.end();
    });
    const { queries } = extractLiveQueries(collector.spans, { ...options, pipelineOf: () => 'support' });
    expect(queries).toMatchObject([
      {
        pipeline: 'support',
        text: 'naïve “query” 🙂',
        topK: 2,
        sessionId: 's',
        userId: 'u',
        error: null,
        embedding: Float32Array.of(0, 1, -0.25),
        results: [
          { id: 'a', score: 1 },
          { id: 'b', score: 0.5 },
        ],
      },
    ]);
    expect(queries[0]?.latencyMs).toBeGreaterThanOrEqual(0);
  });

  it('has the numbers of dropped attributes and events', async () => {
    const documents = Array.from({ length: 50 }, (_, rank) => [`retrieval.documents.${rank}.document.id`, `d${rank}`]);
    const attributes = { 'openinference.span.kind': 'RETRIEVER', ...Object.fromEntries(documents) };
    const work = (tracer: ReturnType<NodeTracerProvider['getTracer']>) => {
      const span = tracer.startSpan('retriever', { attributes });
      for (let event = 0; event < 7; event += 1) span.addEvent('chunk');
      span.end();
    };
    await traceWith(create(), work, { attributeCountLimit: 31, eventCountLimit: 5 });
    expect(collector.spans).toMatchObject([{ droppedAttributesCount: 20, droppedEventsCount: 2 }]);
    const { queries, truncatedSpans } = extractLiveQueries(collector.spans, {
      ...options,
      pipelineOf: () => 'support',
    });
    expect(truncatedSpans).toBe(1);
    expect(queries[0]?.results).toHaveLength(30);
  });

  it('is retried after a 503 with Retry-After, and then decoded', async () => {
    collector.refusals.push({ status: 503, retryAfter: '1' });
    await traceWith(create(), (tracer) => tracer.startSpan('late', { attributes: retrieval }).end());
    expect(collector.requests).toHaveLength(2);
    expect(collector.spans).toMatchObject([{ name: 'late' }]);
  });

  it('is not retried after a 400, and the exporter accepts a partial success', async () => {
    collector.refusals.push({ status: 400 });
    await traceWith(create(), (tracer) => tracer.startSpan('bad').end());
    expect(collector.requests).toHaveLength(1);

    const warnings: unknown[] = [];
    const note = (...words: unknown[]) => void warnings.push(words.map(String).join(' '));
    const logger = { error: note, warn: note, info: () => {}, debug: () => {}, verbose: () => {} };
    diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    await traceWith(create(), (tracer) => tracer.startSpan('good').end());
    expect(warnings).toEqual([]);
    collector.partial = { rejected: 3, message: 'three spans had no id' };
    await traceWith(create(), (tracer) => tracer.startSpan('good').end());
    expect(warnings).toEqual([expect.stringMatching(/partial success.*rejectedSpans.*3.*three spans had no id/is)]);
  });
});

it('evaluations from the log exporter are read as feedback on their span', async () => {
  const exporter = new OTLPLogExporter({ url: `${collector.url}/v1/logs`, compression: gzip });
  const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] });
  const logger = provider.getLogger('evaluator');
  const evaluated = trace.setSpanContext(ROOT_CONTEXT, {
    traceId: '5b8efff798038103d269b633813fc60c',
    spanId: 'eee19b7ec3c1b174',
    traceFlags: 1,
  });
  logger.emit({
    eventName: 'gen_ai.evaluation.result',
    timestamp: Date.UTC(2026, 0, 2, 3, 4, 5),
    context: evaluated,
    attributes: {
      'gen_ai.evaluation.name': 'Relevance',
      'gen_ai.evaluation.score.value': 4,
      'gen_ai.evaluation.score.label': 'relevant',
      'gen_ai.evaluation.explanation': 'on topic',
    },
  });
  logger.emit({ severityNumber: SeverityNumber.INFO, body: 'unrelated' });
  await provider.forceFlush();
  await provider.shutdown();

  expect(collector.records).toHaveLength(2);
  expect(extractLogFeedback(collector.records, { pipelineOf: () => 'support' })).toEqual([
    {
      id: null,
      queryId: '5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174',
      traceId: '5b8efff798038103d269b633813fc60c',
      isResolved: false,
      pipeline: 'support',
      kind: 'relevance',
      value: 4,
      documentId: null,
      rank: null,
      occurredAt: new Date(Date.UTC(2026, 0, 2, 3, 4, 5)),
      userId: null,
      comment: 'on topic',
    },
  ]);
});
