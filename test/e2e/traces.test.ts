/** Traces of real exporters: the stored rows do not depend on the order in which the spans arrive. */
import { trace as api, ROOT_CONTEXT, type SpanContext } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anInstallation, type Installation, type InstalledDaemon } from '../support/installation.ts';

const canary = 'jane.canary@example.com';
/** Time of all feedback in this file: feedback that is sent again with the same time counts as a retry. */
const saidAt = Date.now();
const question = `how do I pay as ${canary}`;

let daemon: InstalledDaemon;
let query: Installation['query'];
const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>) => void cleanups.unshift(clean);

beforeAll(async () => {
  const installed = await anInstallation(
    {
      'recalld.yaml': `
server: {port: 0, max_requests_per_minute: 1000000}
pipelines:
  - {name: docs, retriever: {kind: http, url: "http://127.0.0.1:9/search"}, sampling: {rate: 1, max_per_minute: 1000000}}
  - name: private
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: 1, max_per_minute: 1000000}
    privacy: {text: hash}
  - {name: rare, retriever: {kind: http, url: "http://127.0.0.1:9/search"}, sampling: {rate: 0, max_per_minute: 1000000}}
`,
    },
    { atEnd },
  );
  query = installed.query;
  daemon = await installed.serve();
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

/** Sends one part of a trace, and waits until the daemon has processed it. */
type Export = () => Promise<void>;

interface Traced {
  readonly traceId: string;
  readonly queryId: string;
  /** One function for each span, and one for the user's rating. */
  readonly exports: readonly Export[];
}

/**
 * A trace of a chain with the user's id. The chain contains a retriever and a reranker, and the retriever contains an
 * embedding.
 */
function aTrace(pipeline: string, spans: SpanExporter): Traced {
  const finished = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(finished)] });
  const tracer = provider.getTracer('rag');
  // The chain's span comes from a gateway, and names no pipeline.
  const chain = tracer.startSpan('chain', { attributes: { 'session.id': 's-1', 'user.id': canary } });
  const within = (parent: typeof chain, name: string, kind: string, more: object) =>
    tracer.startSpan(
      name,
      { attributes: { 'recalld.pipeline': pipeline, 'openinference.span.kind': kind, ...more } },
      api.setSpan(ROOT_CONTEXT, parent),
    );
  const retriever = within(chain, 'retrieve', 'RETRIEVER', {
    'input.value': question,
    ...documents('retrieval.documents', ['a', 'b', 'c']),
  });
  within(retriever, 'embed', 'EMBEDDING', {
    'embedding.model_name': 'bge-m3',
    'embedding.embeddings.0.embedding.text': question,
    'embedding.embeddings.0.embedding.vector': [0.6, 0.8],
  }).end();
  retriever.end();
  within(chain, 'rerank', 'RERANKER', {
    'reranker.query': question,
    ...documents('reranker.output_documents', ['c', 'a']),
  }).end();
  chain.end();
  const { traceId, spanId } = retriever.spanContext();
  return {
    traceId,
    queryId: `${traceId}-${spanId}`,
    exports: [
      ...finished.getFinishedSpans().map((span) => () => send(spans, [span])),
      () => thumb(pipeline, chain.spanContext(), 'down'),
    ],
  };
}

function documents(prefix: string, ids: readonly string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id, rank) => [`${prefix}.${rank}.document.id`, id]));
}

function send(exporter: SpanExporter, spans: ReadableSpan[]): Promise<void> {
  return new Promise((resolve, reject) => {
    exporter.export(spans, ({ error }) => (error === undefined ? resolve() : reject(error)));
  });
}

/** Sends a user's rating of a complete LLM answer, as a log record in the context of the answer's span. */
async function thumb(pipeline: string, { traceId, spanId }: SpanContext, label: string): Promise<void> {
  const exporter = new OTLPLogExporter(exportTo('/v1/logs'));
  const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] });
  provider.getLogger('users').emit({
    eventName: 'gen_ai.evaluation.result',
    timestamp: saidAt,
    context: api.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1 }),
    attributes: {
      'recalld.pipeline': pipeline,
      'gen_ai.evaluation.name': 'user thumb',
      'gen_ai.evaluation.score.label': label,
    },
  });
  await provider.forceFlush();
  await provider.shutdown();
}

const exportTo = (where: string) => ({
  url: `${daemon.url}${where}`,
  headers: { authorization: `Bearer ${daemon.apiKey}` },
});

const exporters = () => {
  const settings = exportTo('/v1/traces');
  return [new ProtobufTraceExporter(settings), new JsonTraceExporter(settings)];
};

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length === 0) return [[]];
  return list.flatMap((first, index) => permutations(list.toSpliced(index, 1)).map((rest) => [first, ...rest]));
}

async function storedQueries(traceIds: readonly string[]): Promise<Record<string, unknown>[]> {
  return query<Record<string, unknown>>(
    `select q.id, q.text, q.text_hash is not null as is_hashed, q.embedding, q.embedder_version, q.results, q.user_hash, q.session_hash,
            (select count(*)::integer from feedback f where f.pipeline = q.pipeline and f.query_id = q.id) as opinions
       from live_queries q where trace_id = any($1::text[]) order by q.id`,
    traceIds,
  );
}

describe.each([
  ['docs', { text: 'how do I pay as [EMAIL]', is_hashed: false }],
  ['private', { text: null, is_hashed: true }],
])('a trace of the pipeline %s', (pipeline, storedText) => {
  it('becomes the same complete query, with the feedback on its answer, in every order of arrival and after repeated exports', async () => {
    const orders = permutations([0, 1, 2, 3, 4]);
    const traces = orders.map((_, index) => aTrace(pipeline, exporters()[index % 2] as SpanExporter));
    const deliver = async (index: number) => {
      for (const part of orders[index] ?? []) await traces[index]?.exports[part]?.();
      // Sends one export again, as an exporter does if it did not receive the response.
      await traces[index]?.exports[index % 5]?.();
    };
    for (let from = 0; from < orders.length; from += 10) {
      await Promise.all(orders.slice(from, from + 10).map((_, offset) => deliver(from + offset)));
    }
    const stored = await storedQueries(traces.map(({ traceId }) => traceId));
    const [{ user_hash: user, session_hash: session } = {}] = stored;
    expect([user, session]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(stored).toEqual(
      traces
        .map(({ queryId }) => queryId)
        .toSorted()
        .map((id) => ({
          id,
          ...storedText,
          embedding: Buffer.from(new Float32Array([0.6, 0.8]).buffer),
          embedder_version: 'bge-m3',
          results: [
            ['c', null],
            ['a', null],
          ],
          user_hash: user,
          session_hash: session,
          opinions: 1,
        })),
    );
  });

  it('becomes the same complete query if all of its spans arrive at once', async () => {
    const traces = Array.from({ length: 20 }, () => aTrace(pipeline, exporters()[0] as SpanExporter));
    await Promise.all(traces.flatMap(({ exports }) => exports.map((sendPart) => sendPart())));
    const stored = await storedQueries(traces.map(({ traceId }) => traceId));
    expect(stored).toHaveLength(20);
    for (const query of stored) {
      expect(query).toMatchObject({ ...storedText, embedder_version: 'bge-m3', opinions: 1 });
      expect(query['user_hash']).not.toBeNull();
      expect(query['results']).toHaveLength(2);
    }
  });

  it('leaves nothing behind when its user is erased before the query is complete', async () => {
    const { exports, traceId } = aTrace(pipeline, exporters()[0] as SpanExporter);
    // All spans except the retriever span, which has not arrived yet.
    for (const part of [0, 2, 3]) await exports[part]?.();
    const held = async () =>
      (await query<{ row: string }>('select t::text as row from trace_fragments t')).map(({ row }) => row);
    expect((await held()).filter((row) => row.includes(traceId))).toHaveLength(3);
    expect((await held()).join()).not.toContain(canary);
    await daemon.fetch(`/v1/users/${encodeURIComponent(canary)}`, { method: 'DELETE' });
    expect((await held()).filter((row) => row.includes(traceId))).toEqual([]);
    expect(await storedQueries([traceId])).toEqual([]);
  });
});

it('an unsampled query is stored if its answer gets negative feedback, whichever of the two arrives first', async () => {
  const [before, after] = [0, 1].map(() => aTrace('rare', exporters()[0] as SpanExporter));
  for (const part of [4, 0, 1, 2, 3]) await before?.exports[part]?.();
  for (const part of [0, 1, 2, 3, 4]) await after?.exports[part]?.();
  const stored = await storedQueries([before?.traceId ?? '', after?.traceId ?? '']);
  expect(new Set(stored.map(({ id }) => id))).toEqual(new Set([before?.queryId, after?.queryId]));
  for (const query of stored) expect(query).toMatchObject({ embedder_version: 'bge-m3', opinions: 1 });
});
