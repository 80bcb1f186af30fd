/** Explains why a retriever span did not produce a live query, and which service setting fixes it. */
import { plural } from '../../../core/format.ts';
import { endsEarly } from '../../../core/text/loose-json.ts';
import { outputNames } from './retrieved-documents.ts';
import { type AttributeValue, isHidden, type OtlpSpan } from './span.ts';
import { hasSeveralQueries } from './trace-index.ts';

/** Reasons why spans produced no live query (see `spanReasons`). `grpc`: recalld refuses exporters that use gRPC. */
export type UnreadableReason = SpanReason | 'grpc';

export interface UnreadableRetriever {
  readonly pipeline: string;
  /** Instrumentation that created the spans; empty if it has no name. */
  readonly instrumentation: string;
  readonly reason: UnreadableReason;
  /** Attribute and event names of one of the spans, or the names of the tools; never values. */
  readonly attributes: readonly string[];
  readonly spans: number;
}

export const GRPC_FIX =
  'recalld accepts OTLP over HTTP, not over gRPC. Set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and point the exporter at this port.';

/**
 * A refused connection from an exporter that uses gRPC. `spans` counts connections; the spans themselves, and therefore
 * the pipeline, are unknown.
 */
export const grpcExporter: UnreadableRetriever = {
  pipeline: '',
  instrumentation: '',
  reason: 'grpc',
  attributes: [],
  spans: 1,
};

const MAX_NAMES = 30;
const MAX_NAME = 80;
/**
 * Maximum number of kinds of unreadable retrievers per export; any further spans are counted without their
 * instrumentation.
 */
const MAX_KINDS = 50;

export function reasonOf(span: OtlpSpan, hasDocuments: boolean): UnreadableReason {
  if (hasSeveralQueries(span)) return 'several_queries';
  if (hasDocuments) return 'unidentified';
  const outputs = [...outputNames, 'gen_ai.retrieval.documents', 'retrieval.documents']
    .map((name) => span.attributes[name])
    .filter(isPresent);
  if (outputs.some(isHidden)) return 'hidden';
  if (outputs.some((value) => typeof value === 'string' && endsEarly(value))) return 'cut_off';
  if (outputs.length > 0) return 'unknown_shape';
  return span.droppedAttributesCount > 0 || span.droppedEventsCount > 0 ? 'dropped' : 'no_documents';
}

function isPresent(value: AttributeValue | undefined): boolean {
  return value !== undefined && value !== null && !(typeof value === 'string' && /^\s*(null|None|)\s*$/.test(value));
}

export interface UnreadableSpan {
  readonly span: OtlpSpan;
  readonly pipeline: string;
  readonly reason: UnreadableReason;
  /** Names of the called tools, which are collected from all spans of a kind. */
  readonly tools?: readonly string[];
}

export function summarize(spans: readonly UnreadableSpan[]): readonly UnreadableRetriever[] {
  const kinds = new Map<string, UnreadableRetriever>();
  for (const { span, pipeline, reason, tools } of spans) {
    const instrumentation = kinds.size < MAX_KINDS ? clean(span.scope.name) : '';
    const key = JSON.stringify([pipeline, instrumentation, reason]);
    const { attributes: known, spans: earlier } = kinds.get(key) ?? { spans: 0 };
    const attributes = tools === undefined ? (known ?? namesOf(span)) : cleaned([...(known ?? []), ...tools]);
    kinds.set(key, { pipeline, instrumentation, reason, attributes, spans: earlier + 1 });
  }
  return [...kinds.values()];
}

function namesOf(span: OtlpSpan): readonly string[] {
  const names = [...Object.keys(span.attributes), ...span.events.map(({ name }) => name)];
  return cleaned(names.toSorted());
}

function cleaned(names: readonly string[]): readonly string[] {
  return [...new Set(names.map(clean))].slice(0, MAX_NAMES);
}

function clean(name: string): string {
  return name.slice(0, MAX_NAME).replaceAll(/[\p{Cc}\p{Cs}]/gu, '?');
}

/** Settings that enable content capture. Attribute names identify the instrumentation. */
export const contentSettings: readonly {
  readonly instrumentation: string;
  readonly pattern: RegExp;
  readonly setting: string;
}[] = [
  {
    instrumentation: 'OpenInference',
    pattern: /^openinference\./,
    setting: 'leave OPENINFERENCE_HIDE_OUTPUTS and OPENINFERENCE_HIDE_OUTPUT_TEXT unset',
  },
  {
    instrumentation: 'Langfuse',
    pattern: /^langfuse\./,
    setting:
      'enable output capture in Langfuse (capture_output=True, captureOutput: true; LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED=true)',
  },
  { instrumentation: 'LangSmith', pattern: /^langsmith\./, setting: 'leave LANGSMITH_HIDE_OUTPUTS unset' },
  {
    instrumentation: 'Spring AI',
    pattern: /^spring\.ai\./,
    setting: 'set spring.ai.vectorstore.observations.log-query-response=true',
  },
  {
    instrumentation: 'OpenLLMetry',
    pattern: /^(traceloop\.|db\.(vector|chroma|milvus|pinecone|qdrant|system))/,
    setting: 'set TRACELOOP_TRACE_CONTENT=true',
  },
  {
    instrumentation: 'Logfire',
    pattern: /^logfire\./,
    setting: 'exempt the attribute with logfire.ScrubbingOptions, or set logfire.configure(scrubbing=False)',
  },
  {
    instrumentation: 'Vercel AI SDK',
    pattern: /^ai\./,
    setting: 'leave recordOutputs of experimental_telemetry unset',
  },
  {
    instrumentation: 'OpenTelemetry GenAI',
    pattern: /^gen_ai\./,
    setting: 'set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true',
  },
];

const ITSELF = 'set the attribute gen_ai.retrieval.documents to [{"id", "score"}]';

const OWN_SPAN =
  'create a span around the search, with gen_ai.operation.name=retrieval, gen_ai.retrieval.query.text and gen_ai.retrieval.documents';

type SpanReason = keyof typeof spanReasons;

/** Describes the fix as the end of a sentence. */
function fixOf(reason: SpanReason, attributes: readonly string[]): string {
  const setting = contentSettings.find(({ pattern }) => attributes.some((name) => pattern.test(name)))?.setting;
  if ((reason === 'no_documents' || reason === 'hidden') && setting !== undefined) return `${setting}, or ${ITSELF}`;
  if (reason === 'tool')
    return `add ${attributes.map((name) => `{name: ${name}}`).join(', ')} to the pipeline's retrieval_tools, or ${OWN_SPAN}`;
  return spanReasons[reason].fix;
}

export const spanReasons = {
  no_documents: { problem: 'no documents reported', fix: ITSELF },
  hidden: { problem: 'documents hidden by a privacy setting', fix: ITSELF },
  dropped: {
    problem: 'documents dropped by an attribute limit',
    fix: 'raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and OTEL_SPAN_EVENT_COUNT_LIMIT of the service',
  },
  cut_off: {
    problem: 'output truncated',
    fix: 'raise OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT of the service',
  },
  several_queries: { problem: 'results of several queries in one span', fix: 'send one span per query' },
  unidentified: {
    problem: 'documents with neither ids nor texts',
    fix: 'add ids to the documents, or enable capture of their texts',
  },
  unknown_shape: { problem: 'output in an unknown format', fix: ITSELF },
  tool: {
    problem: 'the search is a tool that the config does not list',
    fix: `add the tool to the pipeline's retrieval_tools, or ${OWN_SPAN}`,
  },
  model_calls: { problem: 'the instrumentation traces only model calls', fix: OWN_SPAN },
} as const;

export function unreadableText(kind: UnreadableRetriever, when: string): string {
  const { spans, instrumentation, attributes, reason } = kind;
  if (reason === 'grpc') return `${plural(spans, 'connection')} over gRPC refused${when}. ${GRPC_FIX}`;
  const source = instrumentation === '' ? '' : ` of ${instrumentation}`;
  const isSearch = reason === 'tool' || reason === 'model_calls';
  const subject = isSearch ? { tool: 'tool call', model_calls: 'model call' }[reason] : 'retriever span';
  const listed = isSearch ? '' : ` Attributes of the latest span: ${attributes.join(', ')}.`;
  return `${plural(spans, subject)}${source} produced no live query${when}: ${spanReasons[reason].problem}.${listed} Fix: ${fixOf(reason, attributes)}.`;
}
