/** LangChain.js with the OpenInference instrumentation, as a RAG service runs it. */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import type { CallbackManagerForRetrieverRun } from '@langchain/core/callbacks/manager';
import * as CallbackManagerModule from '@langchain/core/callbacks/manager';
import { awaitAllCallbacks } from '@langchain/core/callbacks/promises';
import { Document } from '@langchain/core/documents';
import { BaseRetriever } from '@langchain/core/retrievers';
import { RunnableLambda } from '@langchain/core/runnables';
import { FakeRetriever } from '@langchain/core/utils/testing';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { contentId } from '../../../../src/core/text/content-id.ts';
import { extractLiveQueries } from '../../../../src/live/rules/otel/extract.ts';
import { options } from '../../../unit/live/rules/otel/telemetry.ts';
import { type Collector, startCollector } from './collector.ts';

let collector: Collector;
let provider: NodeTracerProvider;

beforeAll(async () => {
  collector = await startCollector();
  const exporter = new OTLPTraceExporter({ url: `${collector.url}/v1/traces` });
  provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  // The instrumentation patches the module permanently, so all tests in this file share one instrumentation.
  new LangChainInstrumentation({ tracerProvider: provider }).manuallyInstrument(CallbackManagerModule);
});

afterAll(async () => {
  await provider.shutdown();
  await collector.close();
});

beforeEach(() => {
  collector.spans.length = 0;
});

const output = [
  new Document({ id: 'chunk-1', pageContent: 'Open the settings.', metadata: { source: 'a.md' } }),
  new Document({ pageContent: 'Passwords are long.', metadata: { source: 'b.md', chunk_id: 'b#4' } }),
  new Document({ pageContent: 'Nothing is known of this one.', metadata: {} }),
];

const expectedResults = [
  { id: 'chunk-1', score: null },
  { id: 'b#4', score: null },
  { id: contentId('Nothing is known of this one.'), score: null },
];

async function extractAll() {
  // LangChain ends its spans in the background.
  await awaitAllCallbacks();
  await provider.forceFlush();
  return extractLiveQueries(collector.spans, { ...options, pipelineOf: () => 'support' });
}

/** A retriever that calls other retrievers, like an ensemble. */
class Ensemble extends BaseRetriever {
  lc_namespace = ['test'];
  readonly retrievers = [new FakeRetriever({ output: output.slice(0, 1) }), new FakeRetriever({ output })];

  override async _getRelevantDocuments(query: string, run?: CallbackManagerForRetrieverRun) {
    const found = await Promise.all(
      this.retrievers.map((retriever) =>
        retriever.invoke(query, run === undefined ? {} : { callbacks: run.getChild() }),
      ),
    );
    return found.flat().slice(0, 2);
  }
}

class Broken extends BaseRetriever {
  lc_namespace = ['test'];

  override _getRelevantDocuments(query: string): Promise<never> {
    return Promise.reject(new RangeError(`cannot search for "${query}"`));
  }
}

it('the query, its documents and their ids are read from the span of a retriever', async () => {
  await new FakeRetriever({ output }).invoke('how do I reset my password');
  expect(await extractAll()).toMatchObject({
    queries: [{ text: 'how do I reset my password', results: expectedResults, error: null }],
    truncatedSpans: 0,
    ignoredSpans: 0,
  });
});

it('the session of a live query is read from the chain around the retriever', async () => {
  const retriever = new FakeRetriever({ output });
  const chain = RunnableLambda.from((question: string, config) => retriever.invoke(question, config));
  await chain.invoke('2024', { metadata: { session_id: 's-7', tenant: 'acme' } });
  const { queries, ignoredSpans } = await extractAll();
  expect(queries).toMatchObject([{ text: '2024', sessionId: 's-7', results: expectedResults }]);
  expect(ignoredSpans).toBe(0);
});

it('a retriever that calls other retrievers yields one query', async () => {
  await new Ensemble().invoke('how do I reset my password');
  const { queries, ignoredSpans } = await extractAll();
  expect(queries).toMatchObject([{ results: [{ id: 'chunk-1' }, { id: 'chunk-1' }] }]);
  expect(ignoredSpans).toBe(2);
});

it('an empty result is read as a query without results', async () => {
  await new FakeRetriever({ output: [] }).invoke('how do I reset my password');
  expect(await extractAll()).toMatchObject({
    queries: [{ results: [], error: null }],
    unreadableRetrievers: [],
  });
});

it('the class of an error is read, but not its message, which may quote the query', async () => {
  await expect(new Broken().invoke('my secret')).rejects.toThrow('my secret');
  const { queries } = await extractAll();
  expect(queries).toMatchObject([{ text: 'my secret', results: [], error: 'RangeError' }]);
});

it('all documents of a span with dropped attributes are read from its output', async () => {
  const many = Array.from(
    { length: 100 },
    (_, rank) => new Document({ id: `d${rank}`, pageContent: `text ${rank}`, metadata: { rank } }),
  );
  await new FakeRetriever({ output: many }).invoke('how do I reset my password');
  const { queries, truncatedSpans } = await extractAll();
  expect(truncatedSpans).toBe(1);
  expect(queries[0]?.results.map(({ id }) => id)).toEqual(many.map(({ id }) => id));
});
