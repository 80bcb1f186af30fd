// Reports a query as a retrieval span and the user's feedback as an event, with OpenTelemetry only.
//
//   npm install @opentelemetry/{api,api-logs,sdk-trace-node,sdk-logs,exporter-trace-otlp-http,exporter-logs-otlp-http}
//   RECALLD_URL=http://127.0.0.1:8321 node examples/opentelemetry.mjs
//
// If a service already traces its retriever with these conventions, OpenInference, Langfuse or OpenLLMetry, it needs
// only the exporters, or a route to recalld in its OpenTelemetry Collector.
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const url = process.env.RECALLD_URL ?? 'http://127.0.0.1:8321';
const key = process.env.RECALLD_API_KEY;
const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };

// The pipeline name in recalld's config. A service with one pipeline may set it once, as a resource attribute.
const pipeline = { 'recalld.pipeline': process.env.RECALLD_PIPELINE ?? 'support-docs' };

const spans = new OTLPTraceExporter({ url: `${url}/v1/traces`, headers });
const tracers = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(spans)] });
const tracer = tracers.getTracer('support-bot');

const events = new OTLPLogExporter({ url: `${url}/v1/logs`, headers });
const loggers = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter: events })] });
const logger = loggers.getLogger('support-bot');

/** Placeholder for the service's own retriever. */
async function retrieve(_question) {
  return [
    { id: 'password-reset', score: 0.83 },
    { id: 'account-recovery', score: 0.71 },
  ];
}

/** Answers a question. The span's context is stored with the answer until the user's feedback arrives. */
async function answer(question, sessionId) {
  const attributes = {
    ...pipeline,
    'gen_ai.operation.name': 'retrieval',
    'gen_ai.data_source.id': 'support-docs-2026-11',
    'gen_ai.conversation.id': sessionId,
    'gen_ai.retrieval.query.text': question,
    'gen_ai.retrieval.top_k': 5,
  };
  const span = tracer.startSpan('retrieval support-docs-2026-11', { kind: SpanKind.CLIENT, attributes });
  const documents = await retrieve(question);
  // One JSON string: separate attributes would exceed the usual limit of 128 per span.
  span.setAttribute('gen_ai.retrieval.documents', JSON.stringify(documents));
  span.end();
  return span.spanContext();
}

/** Reports the user's thumbs-up or thumbs-down as an event on the query's span. */
function giveFeedback(spanContext, isGood) {
  logger.emit({
    eventName: 'gen_ai.evaluation.result',
    context: trace.setSpanContext(ROOT_CONTEXT, spanContext),
    attributes: {
      ...pipeline,
      'gen_ai.evaluation.name': 'user_feedback',
      'gen_ai.evaluation.score.value': isGood ? 1 : 0,
      'gen_ai.evaluation.score.label': isGood ? 'thumbs_up' : 'thumbs_down',
    },
  });
}

const spanContext = await answer('How do I reset my password?', 'session-1');
giveFeedback(spanContext, true);

// At shutdown. `forceFlush` rejects if recalld is unreachable.
await tracers.forceFlush();
await loggers.forceFlush();
await tracers.shutdown();
await loggers.shutdown();
console.log(JSON.stringify({ query_id: `${spanContext.traceId}-${spanContext.spanId}` }));
