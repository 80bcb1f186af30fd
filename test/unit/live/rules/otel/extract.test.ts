import { describe, expect, it } from 'vitest';
import { aRetriever, aSpan, extract, queryId, startMs, traceId } from './telemetry.ts';

const ids = (query: { results: readonly { id: string }[] } | undefined) => query?.results.map(({ id }) => id);

describe('the extraction of live queries', () => {
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

  it('returns two retrievals of one trace as two queries', () => {
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

  it('returns no live query for other databases, model calls and writes to a vector store', () => {
    const { queries, ignoredSpans } = extract([
      aSpan({ id: 1, attributes: { 'db.system': 'postgresql', 'db.operation': 'query' } }),
      aSpan({ id: 2, attributes: { 'openinference.span.kind': 'LLM', 'output.value': '{"documents":[]}' } }),
      aSpan({ id: 3, attributes: { 'db.system': 'chroma', 'db.operation': 'upsert' } }),
    ]);
    expect(queries).toEqual([]);
    expect(ignoredSpans).toBe(3);
  });

  it('returns one query for a span that was exported twice', () => {
    const { queries } = extract([aRetriever(['a']), aRetriever(['a'])]);
    expect(queries).toHaveLength(1);
  });

  it('returns spans whose parents form a cycle', () => {
    const loop = [aRetriever(['a'], { id: 1, parent: 2 }), aRetriever(['a'], { id: 2, parent: 1 })];
    expect(extract(loop).queries).toHaveLength(2);
    expect(extract([aRetriever(['a'], { id: 1, parent: 1 })]).queries).toHaveLength(1);
  });
});

describe('a live query', () => {
  it('has the start time and the duration of its span', () => {
    const [query] = extract([aRetriever(['a'])]).queries;
    expect(query).toMatchObject({ occurredAt: new Date(startMs), latencyMs: 250, traceId });
  });

  it('has no time or no latency if the clock of the span is invalid', () => {
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
    ['JSON without a query', '{"filter":{"lang":"en"}}', null],
    ['broken JSON', '{"query": "reset', '{"query": "reset'],
    ['a list of one text', '["reset"]', 'reset'],
    ['a nested query bundle', '{"str_or_query_bundle":{"query_str":"reset"}}', 'reset'],
    ['a redacted query', '__REDACTED__', null],
    ['a query scrubbed by Logfire', "[Scrubbed due to 'password']", null],
    ['a query with NUL and half a surrogate pair', 'a\0b\uD800c\n', 'a\uFFFDb\uFFFDc\n'],
  ])('takes its text from an input that is %s', (_, input, text) => {
    const span = aSpan({
      attributes: { 'openinference.span.kind': 'RETRIEVER', 'input.value': input, 'output.value': '[]' },
    });
    expect(extract([span]).queries).toMatchObject([{ text }]);
  });

  it('keeps documents without a valid id at their ranks, under unique ids', () => {
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

  it('takes an id from the output only if the output has the same document at that rank', () => {
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

  it('keeps the metadata fields that isolation rules compare, except lists and overlong values', () => {
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

  it('ignores the ids of an output with a different number of documents', () => {
    const span = aSpan({
      attributes: {
        'openinference.span.kind': 'RETRIEVER',
        'retrieval.documents.0.document.metadata': '{"source":"one.md"}',
        'output.value': '{"documents":[{"id":"x"},{"id":"y"}]}',
      },
    });
    expect(extract([span]).queries).toMatchObject([{ results: [{ id: 'one.md' }] }]);
  });

  it('has only the results of the first of several numbered queries', () => {
    const events = [0, 0, 1].map(
      (query, id) => ['db.search.result', { 'db.search.query.id': query, 'db.search.result.id': id }] as const,
    );
    const { queries } = extract([aSpan({ attributes: { 'db.system': 'milvus' }, events })]);
    expect(queries).toMatchObject([{ results: [{ id: '0' }, { id: '1' }] }]);
  });

  it('has the complete document list even if its span lost attributes, and the span counts as truncated', () => {
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
  ])('has the sampling probability of the service, read from %s', (_, parts, probability) => {
    expect(extract([aRetriever(['a'], parts)]).queries).toMatchObject([{ upstreamProbability: probability }]);
  });

  it('respects the limits for live queries that are sent over HTTP', () => {
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
      'the printed exception instead of its base class',
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
      'the class in a stack trace',
      { status: { code: 'error', message: 'no "q"\n\nRangeError: no "q"\n    at search' } },
      'RangeError',
    ],
    [
      'no exception that is part of the query',
      { status: { code: 'error', message: 'no answer to: help\n\nSecretError: mine' } },
      'error',
    ],
    ['no class if the message has none', { status: { code: 'error', message: 'password not found' } }, 'error'],
    ['no error type that is a sentence', { attributes: { 'error.type': 'no answer to my question' } }, 'error'],
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

it('returns the same live queries for any order of the spans', () => {
  const spans = [aRetriever(['a']), aSpan({ id: 2, parent: 1 })];
  expect(extract(spans)).toEqual(extract(spans.toReversed()));
});
