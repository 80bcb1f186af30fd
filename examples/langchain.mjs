// A LangChain.js retriever that reports its queries through OpenTelemetry, without calls to recalld.
//
//   npm install @langchain/core @arizeai/openinference-instrumentation-langchain \
//     @opentelemetry/{sdk-trace-node,exporter-trace-otlp-proto}
//   RECALLD_URL=http://127.0.0.1:8321 node examples/langchain.mjs
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as CallbackManager from '@langchain/core/callbacks/manager';
import { awaitAllCallbacks } from '@langchain/core/callbacks/promises';
import { Document } from '@langchain/core/documents';
import { BaseRetriever } from '@langchain/core/retrievers';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const url = process.env.RECALLD_URL ?? 'http://127.0.0.1:8321';
const key = process.env.RECALLD_API_KEY;
const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };

const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces`, headers });
const tracerProvider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
new LangChainInstrumentation({ tracerProvider }).manuallyInstrument(CallbackManager);

/** Placeholder for the service's own retriever, such as a vector store's `asRetriever()`. */
class SupportRetriever extends BaseRetriever {
  lc_namespace = ['support'];

  async _getRelevantDocuments(_question) {
    return [
      new Document({ id: 'password-reset', pageContent: 'Open the settings and choose "Reset".' }),
      new Document({ id: 'account-recovery', pageContent: 'Write to the help desk.' }),
    ];
  }
}

const documents = await new SupportRetriever().invoke('How do I reset my password?');
console.log(JSON.stringify(documents.map(({ id }) => id)));

// At shutdown.
await awaitAllCallbacks();
await tracerProvider.shutdown();
