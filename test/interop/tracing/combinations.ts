/** Frameworks and the instrumentations that trace them: packages to install, and settings to switch on. */
import type { UnreadableReason } from '../../../src/live/rules/otel/unreadable-retriever.ts';
import type { TracedField } from './recording.ts';

export interface Combination {
  /** Name of the recording. */
  readonly name: string;
  readonly framework: string;
  readonly instrumentation: string;
  /** Default: Python. */
  readonly language?: 'javascript';
  /** Module of the program in the folder of its language, without `_program`. */
  readonly program: string;
  /** Module of the instrumentation, without `_tracing`. */
  readonly tracing: string;
  /** Packages to install in their newest versions, which the recording lists. */
  readonly packages: readonly string[];
  /** Packages that the program also needs. */
  readonly extras?: readonly string[];
  /** Fields of a retrieval that are missing in the spans. */
  readonly missing?: readonly TracedField[];
  /** Names of the tools that search, which the config must list. */
  readonly tools?: readonly string[];
  /** Reason why recalld cannot store the retrievals of this combination; missing if it can store them. */
  readonly reason?: UnreadableReason;
  /** Environment variables and calls that are required for spans with documents; empty if none are. */
  readonly switchedOn: string;
  readonly env?: Readonly<Record<string, string>>;
}

const otel = ['opentelemetry-sdk', 'opentelemetry-exporter-otlp-proto-http'];
const otelNode = [
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
];
const openInferenceNode = '@arizeai/openinference-instrumentation-langchain';
const langchainNode = ['@arizeai/openinference-core', '@langchain/classic', '@langchain/core', '@langchain/openai'];
const langchain = ['langchain', 'langchain-core', 'langchain-classic', 'langchain-openai', 'langgraph', 'numpy'];

export const combinations: readonly Combination[] = [
  {
    name: 'langchain-openinference',
    framework: 'LangChain',
    instrumentation: 'OpenInference',
    program: 'langchain',
    tracing: 'openinference',
    packages: ['langchain', 'langchain-core', 'openinference-instrumentation-langchain'],
    extras: [...langchain, ...otel],
    switchedOn: '',
  },
  {
    name: 'langgraph-openinference',
    framework: 'LangGraph',
    instrumentation: 'OpenInference',
    program: 'langgraph',
    tracing: 'openinference',
    packages: ['langgraph', 'langchain', 'openinference-instrumentation-langchain'],
    extras: [...langchain, ...otel],
    switchedOn: '',
  },
  {
    name: 'llamaindex-openinference',
    framework: 'LlamaIndex',
    instrumentation: 'OpenInference',
    program: 'llamaindex',
    tracing: 'openinference',
    packages: ['llama-index-core', 'openinference-instrumentation-llama-index'],
    extras: ['llama-index-llms-openai-like', ...otel],
    switchedOn: '',
  },
  {
    name: 'haystack-openinference',
    framework: 'Haystack',
    instrumentation: 'OpenInference',
    program: 'haystack',
    tracing: 'openinference',
    packages: ['haystack-ai', 'openinference-instrumentation-haystack'],
    extras: otel,
    switchedOn: '',
  },
  {
    name: 'langchain-openllmetry',
    framework: 'LangChain',
    instrumentation: 'OpenLLMetry',
    program: 'langchain',
    tracing: 'openllmetry',
    packages: ['langchain', 'langchain-core', 'opentelemetry-instrumentation-langchain'],
    extras: [...langchain, ...otel],
    missing: ['id'],
    switchedOn:
      'ids in the metadata of the documents, for example `chunk_id`; `session_id` in the metadata of the call',
  },
  {
    name: 'llamaindex-openllmetry',
    framework: 'LlamaIndex',
    instrumentation: 'OpenLLMetry',
    program: 'llamaindex',
    tracing: 'openllmetry',
    packages: ['llama-index-core', 'opentelemetry-instrumentation-llamaindex'],
    extras: ['llama-index-llms-openai-like', 'traceloop-sdk', ...otel],
    // OpenLLMetry never ends the span of a failed call.
    missing: ['error', 'failure'],
    switchedOn:
      'the service name as `app_name` of `Traceloop.init`; without the distribution `llama-index`, also `LlamaIndexInstrumentor().instrument()` after `Traceloop.init`',
  },
  {
    name: 'langchain-langfuse',
    framework: 'LangChain',
    instrumentation: 'Langfuse',
    program: 'langchain',
    tracing: 'langfuse',
    packages: ['langchain', 'langchain-core', 'langfuse'],
    extras: [...langchain, ...otel],
    missing: ['error'],
    switchedOn: 'a second span processor that exports to recalld, on the tracer provider of Langfuse',
  },
  {
    name: 'pydantic-ai-logfire',
    framework: 'Pydantic AI',
    instrumentation: 'Logfire',
    program: 'pydantic_ai',
    tracing: 'logfire',
    packages: ['pydantic-ai-slim', 'logfire'],
    extras: ['pydantic-ai-slim[openai]', ...otel],
    switchedOn:
      '`logfire.configure(metrics=False, scrubbing=False)`; a [span of your own](../how-to/opentelemetry.md#searches-that-are-tools) around the search, because the search is a tool',
  },
  {
    name: 'openai-agents-openinference',
    framework: 'OpenAI Agents SDK',
    instrumentation: 'OpenInference',
    program: 'openai_agents',
    tracing: 'openinference',
    packages: ['openai-agents', 'openinference-instrumentation-openai-agents'],
    extras: otel,
    // OpenInference sets the session only on spans that it creates.
    missing: ['session'],
    switchedOn:
      'a [span of your own](../how-to/opentelemetry.md#searches-that-are-tools) around the search, because the search is a tool',
  },
  {
    name: 'agno-openinference',
    framework: 'Agno',
    instrumentation: 'OpenInference',
    program: 'agno',
    tracing: 'openinference',
    packages: ['agno', 'openinference-instrumentation-agno'],
    extras: ['openai', ...otel],
    // OpenInference sets the session only on spans that it creates.
    missing: ['session'],
    switchedOn:
      'a [span of your own](../how-to/opentelemetry.md#searches-that-are-tools) around the search, because the search is a tool',
  },
  {
    name: 'langchain-langsmith',
    framework: 'LangChain',
    instrumentation: 'LangSmith',
    program: 'langchain',
    tracing: 'langsmith',
    packages: ['langchain', 'langchain-core', 'langsmith'],
    extras: [...langchain, 'langsmith[otel]', ...otel],
    switchedOn: '`LANGSMITH_TRACING=true`, `LANGSMITH_OTEL_ENABLED=true`',
    env: {
      LANGSMITH_TRACING: 'true',
      LANGSMITH_OTEL_ENABLED: 'true',
      LANGSMITH_OTEL_ONLY: 'true',
      LANGSMITH_API_KEY: 'none',
      LANGSMITH_ENDPOINT: 'http://127.0.0.1:9',
    },
  },
  {
    name: 'langchain-mlflow',
    framework: 'LangChain',
    instrumentation: 'MLflow',
    program: 'langchain',
    tracing: 'mlflow',
    packages: ['langchain', 'langchain-core', 'mlflow-tracing'],
    extras: [...langchain, ...otel],
    // MLflow stores the session in the trace's metadata, which MLflow does not export.
    missing: ['session'],
    switchedOn:
      '`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` in place of `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf`; with `mlflow-tracing`, also `MLFLOW_TRACKING_URI`',
    env: {
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      // Any address works, but without an address, MLflow looks for a local store, fails and traces nothing.
      MLFLOW_TRACKING_URI: 'http://127.0.0.1:9',
    },
  },
  {
    name: 'dspy-openinference',
    framework: 'DSPy',
    instrumentation: 'OpenInference',
    program: 'dspy',
    tracing: 'openinference',
    packages: ['dspy', 'openinference-instrumentation-dspy'],
    extras: otel,
    switchedOn: '',
  },
  {
    name: 'crewai-openinference',
    framework: 'CrewAI',
    instrumentation: 'OpenInference',
    program: 'crewai',
    tracing: 'openinference',
    packages: ['crewai', 'openinference-instrumentation-crewai'],
    extras: otel,
    // OpenInference sets the session on its own spans only.
    missing: ['session'],
    switchedOn:
      'a [span of your own](../how-to/opentelemetry.md#searches-that-are-tools) around the search, because the search is a tool',
    env: { CREWAI_DISABLE_TELEMETRY: 'true', CREWAI_TRACING_ENABLED: 'false' },
  },
  {
    name: 'openai-otel',
    framework: 'OpenAI SDK',
    instrumentation: 'OpenTelemetry GenAI',
    program: 'openai',
    tracing: 'openai_v2',
    packages: ['openai', 'opentelemetry-instrumentation-openai-v2'],
    // Version 2.4b0 imports httpx, which the SDK no longer installs, and a module that newer versions of util-genai
    // lack.
    extras: ['httpx', 'opentelemetry-util-genai<1.2', ...otel],
    reason: 'model_calls',
    switchedOn: '',
    env: { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
  },
  {
    name: 'langchain-js-openinference',
    framework: 'LangChain.js',
    instrumentation: 'OpenInference',
    language: 'javascript',
    program: 'langchain',
    tracing: 'openinference',
    packages: ['langchain', '@langchain/core', openInferenceNode],
    extras: [...langchainNode, ...otelNode],
    switchedOn: '`manuallyInstrument` with the module `@langchain/core/callbacks/manager`',
  },
  {
    name: 'langgraph-js-openinference',
    framework: 'LangGraph.js',
    instrumentation: 'OpenInference',
    language: 'javascript',
    program: 'langgraph',
    tracing: 'openinference',
    packages: ['@langchain/langgraph', 'langchain', openInferenceNode],
    extras: [...langchainNode, 'zod', ...otelNode],
    switchedOn: '`manuallyInstrument` with the module `@langchain/core/callbacks/manager`',
  },
  {
    name: 'llamaindex-js-openllmetry',
    framework: 'LlamaIndex.TS',
    instrumentation: 'OpenLLMetry',
    language: 'javascript',
    program: 'llamaindex',
    tracing: 'openllmetry',
    packages: ['llamaindex', '@traceloop/instrumentation-llamaindex'],
    extras: ['@llamaindex/openai', ...otelNode],
    missing: ['session', 'error'],
    switchedOn:
      '`manuallyInstrument` with the module `llamaindex`; a `RetrieverQueryEngine` around a retriever of your own, because its direct calls are not traced',
  },
  {
    name: 'ai-sdk',
    framework: 'AI SDK',
    instrumentation: 'its own telemetry',
    language: 'javascript',
    program: 'ai_sdk',
    tracing: 'ai_sdk',
    packages: ['ai'],
    extras: ['@ai-sdk/openai-compatible', 'zod', ...otelNode],
    tools: ['search_docs'],
    switchedOn:
      '`experimental_telemetry: {isEnabled: true}`; the tool under [`retrieval_tools`](../how-to/opentelemetry.md#searches-that-are-tools), because the search is a tool; the session as `sessionId` in the metadata of the telemetry',
  },
];
