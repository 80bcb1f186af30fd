/** Frameworks and the instrumentations that trace them: what to install, and what must be switched on. */
import type { TracedField } from './recording.ts';

export interface Combination {
  /** Name of the recording. */
  readonly name: string;
  readonly framework: string;
  readonly instrumentation: string;
  /** Module of the program in `python/`, without `_program`. */
  readonly program: string;
  /** Module of the instrumentation in `python/`, without `_tracing`. */
  readonly tracing: string;
  /** Distributions whose versions the recording names; installed in the newest version. */
  readonly packages: readonly string[];
  /** Distributions that the program also needs. */
  readonly extras?: readonly string[];
  /** Fields of a retrieval that the spans do not contain. */
  readonly missing?: readonly TracedField[];
  /** Environment variables and calls without which the spans have no documents; empty if there are none. */
  readonly switchedOn: string;
  readonly env?: Readonly<Record<string, string>>;
}

const otel = ['opentelemetry-sdk', 'opentelemetry-exporter-otlp-proto-http'];
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
];
