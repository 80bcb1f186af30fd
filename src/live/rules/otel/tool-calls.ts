/** Finds the spans that are tool calls, and the tool calls that are searches without a retriever span. */
import { type OtlpSpan, readString } from './span.ts';
import type { TraceIndex } from './trace-index.ts';
import { summarize, type UnreadableRetriever } from './unreadable-retriever.ts';

/**
 * Attributes that contain the name of a called tool: OTel GenAI, OpenInference, the AI SDK, OpenLLMetry. The span name
 * may also be the tool name.
 */
const nameAttributes = ['gen_ai.tool.name', 'tool.name', 'ai.toolCall.name', 'traceloop.entity.name'];

/** Attributes that identify a span as a tool call, with their values in lower case. */
const toolKinds: readonly (readonly [attribute: string, kind: string])[] = [
  ['openinference.span.kind', 'tool'],
  ['langsmith.span.kind', 'tool'],
  ['gen_ai.operation.name', 'execute_tool'],
  ['langfuse.observation.type', 'tool'],
  ['mlflow.spanType', 'tool'],
  ['traceloop.span.kind', 'tool'],
  ['ai.operationId', 'ai.toolcall'],
];

/** Attributes that identify a span as a model call. */
const modelKinds: readonly (readonly [attribute: string, kind: string])[] = [
  ['openinference.span.kind', 'llm'],
  ['gen_ai.operation.name', 'chat'],
  ['gen_ai.operation.name', 'text_completion'],
  ['gen_ai.operation.name', 'generate_content'],
];

export const isToolCall = (span: OtlpSpan): boolean => isOfKind(span, toolKinds);

function isOfKind({ attributes }: OtlpSpan, kinds: typeof toolKinds): boolean {
  return kinds.some(
    ([attribute, kind]) => readString(attributes[attribute])?.replaceAll('"', '').toLowerCase() === kind,
  );
}

/** Returns the names under which the config may list a tool, the most specific first. */
export function toolNames({ attributes, name }: OtlpSpan): readonly string[] {
  return [...nameAttributes.map((attribute) => readString(attributes[attribute])), name].filter((one) => one !== null);
}

const searchName = /search|retriev|look_?up|knowledge|find_?(doc|chunk|passage|article)/i;

/**
 * Returns the searches of an export that have no retriever span. A search is a call to a tool whose name suggests that
 * it searches. If an export has neither such tool calls nor retriever spans, returns its model calls instead, because
 * the instrumentation of a model SDK traces only model calls. The result is useful only for pipelines without live
 * queries, because the retriever span may be in another export.
 */
export function untracedSearches(
  { spans, roleOf, retrieverAround, ancestorsOf }: TraceIndex,
  pipelineOf: (span: OtlpSpan) => string | null,
): readonly UnreadableRetriever[] {
  const retrievers = spans.filter((span) => roleOf(span) === 'retriever');
  const traced = new Set(retrievers.flatMap((span) => ancestorsOf(span)));
  const tools = spans.filter(
    (span) =>
      isToolCall(span) &&
      retrieverAround(span) === null &&
      !traced.has(span) &&
      toolNames(span).some((name) => searchName.test(name)),
  );
  if (tools.length === 0 && retrievers.length > 0) return [];
  const searches = tools.length > 0 ? tools : spans.filter((span) => isOfKind(span, modelKinds));
  const reason = tools.length > 0 ? 'tool' : 'model_calls';
  return summarize(
    searches.flatMap((span) => {
      const pipeline = pipelineOf(span);
      const names = reason === 'tool' ? toolNames(span).slice(0, 1) : [];
      return pipeline === null ? [] : [{ span, pipeline, reason, tools: names }];
    }),
  );
}
