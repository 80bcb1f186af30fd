import { describe, expect, it } from 'vitest';
import { aRetriever, aSpan, extract, queryId, startMs, traceId } from './telemetry.ts';

const ids = (query: { results: readonly { id: string }[] } | undefined) => query?.results.map(({ id }) => id);

describe('which spans are live queries', () => {
  it('uses the outermost of nested retrievers, so that an ensemble is one query', () => {
    const { queries, ignoredSpans } = extract([
      aRetriever(['a', 'b'], { id: 1 }),
      aRetriever(['a'], { id: 2, parent: 1 }),
      aSpan({ id: 3, parent: 1 }),
      aRetriever(['b'], { id: 4, parent: 3 }),
    ]);
    expect(queries.map(({ id }) => id)).toEqual([queryId(1)]);
    expect(ids(queries[0])).toEqual(['a', 'b']);
    expect(ignoredSpans).toBe(3);
  });

  it('uses the inner retrievers when the outer one has no pipeline', () => {
    const { queries, spansWithoutPipeline } = extract(
      [
        aRetriever(['a', 'b'], { id: 1 }),
        aRetriever(['a'], { id: 2, parent: 1, name: 'dense' }),
        aRetriever(['b'], { id: 3, parent: 1, name: 'sparse' }),
      ],
      { pipelineOf: (telemetry) => ('name' in telemetry && telemetry.name !== 'span' ? 'support' : null) },
    );
    expect(queries.map(({ id }) => id)).toEqual([queryId(2), queryId(3)]);
    expect(spansWithoutPipeline).toBe(1);
  });

  it('keeps two retrievals of one trace apart', () => {
    const { queries } = extract([aRetriever(['a'], { id: 2, parent: 1 }), aRetriever(['b'], { id: 3, parent: 1 })]);
    expect(queries.map(ids)).toEqual([['a'], ['b']]);
  });

  it('uses the documents of the only inner retriever when the outer span has none', () => {
    const outer = aSpan({ attributes: { 'openinference.span.kind': 'RETRIEVER', 'input.value': 'q' } });
    const { queries } = extract([outer, aRetriever(['a'], { id: 2, parent: 1 })]);
    expect(queries).toHaveLength(1);
    expect(queries[0]).toMatchObject({ id: queryId(1), text: 'q', results: [{ id: 'a', score: 1 }] });

    const ambiguous = extract([
      outer,
      aRetriever(['a'], { id: 2, parent: 1 }),
      aRetriever(['b'], { id: 3, parent: 1 }),
    ]);
    expect(ambiguous).toMatchObject({ queries: [], unreadableRetrievers: [{ reason: 'no_documents', spans: 1 }] });
  });

  it('does not treat a span without documents as an empty result', () => {
    const silent = aSpan({ attributes: { 'gen_ai.operation.name': 'retrieval' } });
    expect(extract([silent])).toMatchObject({
      queries: [],
      unreadableRetrievers: [{ reason: 'no_documents', attributes: ['gen_ai.operation.name'], spans: 1 }],
      ignoredSpans: 0,
    });

    const hidden = aSpan({
      attributes: {
        'openinference.span.kind': 'RETRIEVER',
        'output.value': '__REDACTED__',
        'retrieval.documents.0.document.content': '__REDACTED__',
      },
    });
    expect(extract([hidden])).toMatchObject({ queries: [], unreadableRetrievers: [{ reason: 'unidentified' }] });
  });

  it.each([
    ['an empty list', { 'gen_ai.operation.name': 'retrieval', 'gen_ai.retrieval.documents': [] }],
    ['an empty output', { 'openinference.span.kind': 'RETRIEVER', 'output.value': '{"documents":[]}' }],
    ['a count of 0', { 'db.system': 'Pinecone', 'db.vector.query.result_count': 0 }],
  ])('treats %s as an empty result', (_, attributes) => {
    const { queries, unreadableRetrievers } = extract([aSpan({ attributes })]);
    expect(queries).toMatchObject([{ results: [], error: null }]);
    expect(unreadableRetrievers).toEqual([]);
  });

  it('skips vector store spans with the results of several queries', () => {
    const attributes = {
      'db.system': 'chroma',
      'db.operation': 'query',
      'db.chroma.query.query_texts_count': 2,
    };
    const events = [['db.query.result', { 'db.query.result.id': 'a' }]] as const;
    expect(extract([aSpan({ attributes, events })])).toMatchObject({
      queries: [],
      unreadableRetrievers: [{ reason: 'several_queries' }],
    });
  });

  it('reads no live query from databases, models and chains', () => {
    const { queries, ignoredSpans } = extract([
      aSpan({ id: 1, attributes: { 'db.system': 'postgresql', 'db.operation': 'query' } }),
      aSpan({ id: 2, attributes: { 'openinference.span.kind': 'LLM', 'output.value': '{"documents":[]}' } }),
      aSpan({ id: 3, attributes: { 'db.system': 'chroma', 'db.operation': 'upsert' } }),
    ]);
    expect(queries).toEqual([]);
    expect(ignoredSpans).toBe(3);
  });

  it('counts a span once that an exporter sent twice', () => {
    const { queries } = extract([aRetriever(['a']), aRetriever(['a'])]);
    expect(queries).toHaveLength(1);
  });

  it('loses no span to parents that form a circle', () => {
    const loop = [aRetriever(['a'], { id: 1, parent: 2 }), aRetriever(['a'], { id: 2, parent: 1 })];
    expect(extract(loop).queries).toHaveLength(2);
    expect(extract([aRetriever(['a'], { id: 1, parent: 1 })]).queries).toHaveLength(1);
  });
});

describe('a live query', () => {
  it('has its time and its latency', () => {
    const [query] = extract([aRetriever(['a'])]).queries;
    expect(query).toMatchObject({ occurredAt: new Date(startMs), latencyMs: 250, traceId });
  });

  it('has no time when the span has an invalid clock', () => {
    const span = aRetriever(['a'], { startTimeUnixNano: 0n, endTimeUnixNano: 1_000_000_000_000_000_000n });
    expect(extract([span]).queries).toMatchObject([{ occurredAt: null, latencyMs: null }]);
    const backwards = aRetriever(['a'], { endTimeUnixNano: 5n });
    expect(extract([backwards]).queries).toMatchObject([{ latencyMs: null }]);
  });

  it('gets session, user and segments from its ancestors', () => {
    const root = {
      'session.id': 's',
      'user.id': 'u',
      metadata: '{"tenant":"acme","seats":25}',
      'langfuse.trace.metadata.language': 'fr',
    };
    const { queries } = extract(
      [
        aSpan({ id: 1, attributes: root }),
        aSpan({ id: 2, parent: 1 }),
        aRetriever(['a'], { id: 3, parent: 2, attributes: { 'user.id': 'own' } }),
      ],
      { segmentKeysOf: () => ['tenant', 'language', 'seats', 'service.version', 'missing'] },
    );
    expect(queries).toMatchObject([{ sessionId: 's', userId: 'own' }]);
    expect({ ...queries[0]?.segments }).toEqual({
      tenant: 'acme',
      language: 'fr',
      seats: '25',
      'service.version': '2.3.0',
    });
  });

  it.each([
    ['a year', '2024', '2024'],
    ['a phrase in quotes', '"reset password"', '"reset password"'],
    ['JSON without a query in it', '{"filter":{"lang":"en"}}', null],
    ['broken JSON', '{"query": "reset', '{"query": "reset'],
    ['a list of one', '["reset"]', 'reset'],
    ['a bundle inside', '{"str_or_query_bundle":{"query_str":"reset"}}', 'reset'],
    ['a redacted query', '__REDACTED__', null],
    ['a query scrubbed by Logfire', "[Scrubbed due to 'password']", null],
    ['a query with NUL and half a surrogate pair', 'a\0b\uD800c\n', 'a\uFFFDb\uFFFDc\n'],
  ])('reads the query from %s', (_, input, text) => {
    const span = aSpan({
      attributes: { 'openinference.span.kind': 'RETRIEVER', 'input.value': input, 'output.value': '[]' },
    });
    expect(extract([span]).queries).toMatchObject([{ text }]);
  });

  it('keeps the ranks of documents by id, whatever else is missing', () => {
    const span = aSpan({
      attributes: {
        'gen_ai.operation.name': 'retrieval',
        'gen_ai.retrieval.documents': [{ id: 'a', score: Number.NaN }, { id: 1.5 }, { id: 'c\n' }, { id: 'd' }],
      },
    });
    expect(extract([span]).queries).toMatchObject([
      {
        results: [
          { id: 'a', score: null },
          { id: `unidentified:${queryId(1)}#2`, score: null },
          { id: `unidentified:${queryId(1)}#3`, score: null },
          { id: 'd', score: null },
        ],
      },
    ]);
  });

  it('takes ids from the output only at ranks with the same document', () => {
    const span = aSpan({
      attributes: {
        'openinference.span.kind': 'RETRIEVER',
        'retrieval.documents.0.document.content': 'one',
        'retrieval.documents.0.document.metadata': '{"source":"one.md"}',
        'output.value': '{"documents":[{"id":"other","page_content":"two"}]}',
      },
    });
    expect(extract([span]).queries).toMatchObject([{ results: [{ id: 'one.md' }] }]);
  });

  it('keeps the fields that isolation rules compare, from the document or its metadata, and drops what would be cut off', () => {
    const span = aSpan({
      attributes: {
        'openinference.span.kind': 'RETRIEVER',
        'retrieval.documents.0.document.id': 'a',
        'retrieval.documents.0.document.metadata': '{"region":"eu","level":3,"owner":"x"}',
        'retrieval.documents.1.document.id': 'b',
        'retrieval.documents.1.document.metadata': JSON.stringify({ region: 'x'.repeat(129), level: ['a'] }),
      },
    });
    const { queries } = extract([span], { fieldKeysOf: () => ['region', 'level'] });
    expect(queries[0]?.results).toEqual([
      { id: 'a', score: null, fields: { region: 'eu', level: '3' } },
      { id: 'b', score: null, fields: {} },
    ]);
  });

  it('ignores ids of an output with another length', () => {
    const span = aSpan({
      attributes: {
        'openinference.span.kind': 'RETRIEVER',
        'retrieval.documents.0.document.metadata': '{"source":"one.md"}',
        'output.value': '{"documents":[{"id":"x"},{"id":"y"}]}',
      },
    });
    expect(extract([span]).queries).toMatchObject([{ results: [{ id: 'one.md' }] }]);
  });

  it('reads only the first of several numbered queries', () => {
    const events = [0, 0, 1].map(
      (query, id) => ['db.search.result', { 'db.search.query.id': query, 'db.search.result.id': id }] as const,
    );
    const { queries } = extract([aSpan({ attributes: { 'db.system': 'milvus' }, events })]);
    expect(queries).toMatchObject([{ results: [{ id: '0' }, { id: '1' }] }]);
  });

  it('reads the complete list of a span that lost attributes, and counts the span', () => {
    const documents = Array.from({ length: 50 }, (_, rank) => ({
      id: `d${rank}`,
      pageContent: `text ${rank}`,
    }));
    const flat = documents
      .slice(0, 40)
      .map(({ pageContent }, rank) => [`retrieval.documents.${rank}.document.content`, pageContent]);
    const span = aSpan({
      attributes: {
        'openinference.span.kind': 'RETRIEVER',
        'output.value': JSON.stringify({ documents }),
        ...Object.fromEntries(flat),
      },
      droppedAttributesCount: 33,
    });
    const { queries, truncatedSpans } = extract([span]);
    expect(ids(queries[0])).toEqual(documents.map(({ id }) => id));
    expect(truncatedSpans).toBe(1);
    expect(extract([aSpan({ droppedAttributesCount: 1 })]).truncatedSpans).toBe(0);
  });

  it.each([
    ['the sampling threshold of tracestate', { traceState: 'vendor=x,ot=rv:abcdef;th:c' }, 0.25],
    ['a threshold of 0', { traceState: 'ot=th:0' }, 1],
    ['an invalid threshold', { traceState: 'ot=th:xyz' }, 1],
    ['an attribute', { attributes: { 'sampling.probability': 0.1 } }, 0.1],
    ['an impossible attribute', { attributes: { 'sampling.probability': 0 } }, 1],
    ['a sample rate', { attributes: { SampleRate: 20 } }, 0.05],
  ])('reads the sampling probability of the service from %s', (_, parts, probability) => {
    expect(extract([aRetriever(['a'], parts)]).queries).toMatchObject([{ upstreamProbability: probability }]);
  });

  it('stays within the bounds of live queries that come over HTTP', () => {
    const documents = Array.from({ length: 1200 }, (_, rank) => ({ id: `d${rank}` }));
    const span = aRetriever([], {
      attributes: { 'gen_ai.retrieval.documents': documents, 'gen_ai.retrieval.top_k': 50_000 },
      endTimeUnixNano: 2_000_000_000_000_000_000n,
    });
    const [query] = extract([span]).queries;
    expect(query?.results).toHaveLength(1000);
    expect(query).toMatchObject({ topK: 10_000, latencyMs: null });
  });
});

describe('failed retrievals', () => {
  const failed = {
    code: 'error',
    message: 'TimeoutError: no answer to "how do I reset my password"',
  } as const;
  const operation = { 'gen_ai.operation.name': 'retrieval' };

  it.each([
    [
      'the error type',
      { attributes: { 'error.type': 'java.net.UnknownHostException' } },
      'java.net.UnknownHostException',
    ],
    ['the exception type', { status: failed, events: [['exception', { 'exception.type': 'HTTPError' }]] }, 'HTTPError'],
    ['the class in the status', { status: failed }, 'TimeoutError'],
    [
      'the printed exception behind a base class',
      {
        status: { code: 'error', message: '' },
        events: [
          [
            'exception',
            {
              'exception.type': 'Exception',
              'exception.message': "SearchTimeout('no answer')Traceback (most recent call last):\n\n",
            },
          ],
        ],
      },
      'SearchTimeout',
    ],
    [
      'a base class if there is no other',
      { status: { code: 'error', message: '' }, events: [['exception', { 'exception.type': 'Exception' }]] },
      'Exception',
    ],
    [
      'the class in a stack',
      { status: { code: 'error', message: 'no "q"\n\nRangeError: no "q"\n    at search' } },
      'RangeError',
    ],
    [
      'no exception that is part of the query',
      { status: { code: 'error', message: 'no answer to: help\n\nSecretError: mine' } },
      'error',
    ],
    ['no class', { status: { code: 'error', message: 'password not found' } }, 'error'],
    ['an error type that is a sentence', { attributes: { 'error.type': 'no answer to my question' } }, 'error'],
    [
      'Langfuse’s level',
      {
        attributes: {
          'langfuse.observation.level': 'ERROR',
          'langfuse.observation.status_message': 'ConnectionError: refused',
        },
      },
      'ConnectionError',
    ],
  ] as const)('name %s, and never quote the query', (_, parts, error) => {
    const attributes = { ...operation, ...('attributes' in parts ? parts.attributes : {}) };
    const { queries, unreadableRetrievers } = extract([aSpan({ ...parts, attributes })]);
    expect(queries).toMatchObject([{ error, results: [] }]);
    expect(unreadableRetrievers).toEqual([]);
  });
});

it('ignores a service without a pipeline', () => {
  const resource = { serviceName: 'billing', attributes: {} };
  expect(extract([aRetriever(['a'], { resource })])).toMatchObject({
    queries: [],
    ignoredSpans: 1,
    spansWithoutPipeline: 1,
  });
});

it('returns the same live queries when an export is retried', () => {
  const spans = [aRetriever(['a']), aSpan({ id: 2, parent: 1 })];
  expect(extract(spans)).toEqual(extract(spans.toReversed()));
});
