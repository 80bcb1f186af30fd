import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidField } from '../../../src/client/options.ts';
import { createFeedbackRecord, createQueryRecord, recordToJson } from '../../../src/client/records.ts';
import { feedbackKinds, type TrackedFeedback, type TrackedQuery } from '../../../src/client/types.ts';
import { contentId } from '../../../src/core/text/content-id.ts';
import { feedbackSchema, liveQuerySchema, readLiveQueries, toLiveQuery } from '../../../src/live/ingest-schema.ts';
import { feedbackKinds as kindsOfTheDaemon } from '../../../src/live/rules/live-query.ts';

const now = Date.parse('2026-11-20T15:45:00Z');
const context = { id: 'q-1', pipeline: 'support-docs', now, sampleRate: 1 };

/** Returns a query's record, as the client sends it to the daemon. */
function sent(query: TrackedQuery, sampleRate = 1): unknown {
  const record = createQueryRecord(query as Readonly<Record<string, unknown>>, { ...context, sampleRate });
  return JSON.parse(recordToJson(record));
}

function sentFeedback(feedback: TrackedFeedback): unknown {
  return JSON.parse(
    recordToJson(createFeedbackRecord(feedback as unknown as Readonly<Record<string, unknown>>, context)),
  );
}

describe('a tracked query', () => {
  it('reaches the daemon with every field under its name on the wire', () => {
    const query: TrackedQuery = {
      pipeline: 'faq',
      occurredAt: new Date('2026-11-20T15:00:00.5Z'),
      text: 'How do I reset it?',
      embedding: [0.5, -0.25],
      topK: 10,
      sessionId: 's-1',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      episode: { id: 'turn-9', step: 2, originalText: 'it does not work' },
      results: [{ id: 'a', score: 0.9 }, { id: 7, score: null }, 'b', 8, { id: 'c', score: Number.NaN }],
      latencyMs: 12.5,
      stages: [
        { name: 'words', results: ['b', 9], side: true },
        { name: 'reranked', latencyMs: 8, results: null },
      ],
      error: new Error('the store timed out'),
      segments: { tenant: 'acme', beta: true, tier: 2, course: null },
      userId: 42,
      versions: { index: 'i-7', embedder: undefined, retriever: null },
      sampling: { probability: 0.5 },
    };
    expect(liveQuerySchema.parse(sent(query, 0.5))).toEqual({
      id: 'q-1',
      pipeline: 'faq',
      occurred_at: '2026-11-20T15:00:00.500Z',
      text: 'How do I reset it?',
      embedding: new Float32Array([0.5, -0.25]),
      top_k: 10,
      session_id: 's-1',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      episode: { id: 'turn-9', step: 2, original_text: 'it does not work' },
      results: [{ id: 'a', score: 0.9 }, { id: '7' }, { id: 'b' }, { id: '8' }, { id: 'c' }],
      latency_ms: 12.5,
      stages: [
        { name: 'words', results: [{ id: 'b' }, { id: '9' }], side: true },
        { name: 'reranked', latency_ms: 8 },
      ],
      error: 'the store timed out',
      segments: { tenant: 'acme', beta: 'true', tier: '2' },
      user_id: '42',
      versions: { index: 'i-7' },
      sampling: { probability: 0.25 },
    });
  });

  it('derives the id of a document from the text if the document has no id, as the daemon does', () => {
    const text = 'Open\n the settings.';
    const id = contentId('Open the settings.');
    expect(sent({ results: [{ text }] })).toMatchObject({ results: [{ id, text }] });
    const item = { id: 'q-1', pipeline: 'faq', results: [{ text }, { id: 'a' }] };
    expect(toLiveQuery(liveQuerySchema.parse(item)).results).toEqual([
      { id, score: null },
      { id: 'a', score: null },
    ]);
    for (const result of [{}, { text: ' ' }, { score: 1 }]) {
      expect(() => sent({ results: [result] })).toThrow(InvalidField);
      expect(readLiveQueries({ ...item, results: [result] }).rejected).toHaveLength(1);
    }
  });

  it('gets a time and an id from the client if the host sets none', () => {
    expect(sent({ results: [] })).toEqual({
      id: 'q-1',
      pipeline: 'support-docs',
      occurred_at: '2026-11-20T15:45:00.000Z',
      results: [],
    });
  });

  it.each([0, 1_763_654_400_000, '2026-11-20T16:45:00+01:00', '2026-11-20'])('accepts %s as its time', (occurredAt) => {
    expect(liveQuerySchema.parse(sent({ results: [], occurredAt })).occurred_at).toBe(
      new Date(occurredAt).toISOString(),
    );
  });

  it('sends the fields of documents as text, and is rejected if the daemon would refuse the fields', () => {
    const fields = { region: 'eu', level: 3, archived: false, owner: null };
    const item = sent({ results: [{ id: 'a', fields }] });
    expect(toLiveQuery(liveQuerySchema.parse(item)).results).toEqual([
      { id: 'a', score: null, fields: { region: 'eu', level: '3', archived: 'false' } },
    ]);
    for (const refused of [
      { region: 'x'.repeat(129) },
      Object.fromEntries(Array.from('abcdefghi').map((key) => [key, 'x'])),
    ])
      expect(() => sent({ results: [{ id: 'a', fields: refused }] })).toThrow(InvalidField);
  });

  it('requires no results if the retrieval failed', () => {
    expect(liveQuerySchema.parse(sent({ error: 'timeout' }))).toMatchObject({
      results: [],
      error: 'timeout',
    });
  });

  it.each([
    { error: '', reported: undefined },
    { error: new Error('no answer'), reported: 'no answer' },
    { error: new TypeError(), reported: 'TypeError' },
    { error: { message: 'of another realm' } as Error, reported: 'of another realm' },
  ])('reports the error $error as $reported', ({ error, reported }) => {
    expect(liveQuerySchema.parse(sent({ results: [], error })).error).toBe(reported);
  });

  it('contains at most 1,000 characters of an error', () => {
    expect(liveQuerySchema.parse(sent({ error: 'x'.repeat(5000) })).error).toHaveLength(1000);
  });

  it.each<{ field: string; query: unknown }>([
    { field: 'results', query: {} },
    { field: 'results', query: { results: 'a' } },
    { field: 'results', query: { results: Array.from({ length: 1001 }, () => 'a') } },
    { field: 'results[].id', query: { results: [{}] } },
    { field: 'results[].id', query: { results: [''] } },
    { field: 'stages', query: { results: [], stages: Array.from({ length: 11 }, () => ({ name: 'a' })) } },
    { field: 'stages[]', query: { results: [], stages: [null] } },
    { field: 'stages[].name', query: { results: [], stages: [{}] } },
    { field: 'stages[].name', query: { results: [], stages: [{ name: 'x'.repeat(65) }] } },
    { field: 'stages[].results', query: { results: [], stages: [{ name: 'a', results: 'b' }] } },
    { field: 'stages[].latencyMs', query: { results: [], stages: [{ name: 'a', latencyMs: -1 }] } },
    { field: 'results[].id', query: { results: [null] } },
    { field: 'results[].score', query: { results: [{ id: 'a', score: '0.9' }] } },
    { field: 'id', query: { results: [], id: {} } },
    { field: 'id', query: { results: [], id: 'x'.repeat(1025) } },
    { field: 'pipeline', query: { results: [], pipeline: 7n } },
    { field: 'occurredAt', query: { results: [], occurredAt: 'yesterday' } },
    { field: 'occurredAt', query: { results: [], occurredAt: new Date(Number.NaN) } },
    { field: 'occurredAt', query: { results: [], occurredAt: 8.64e15 } },
    { field: 'text', query: { results: [], text: 3 } },
    { field: 'text', query: { results: [], text: 'x'.repeat(100_001) } },
    { field: 'embedding', query: { results: [], embedding: [] } },
    { field: 'embedding', query: { results: [], embedding: [1, Number.NaN] } },
    { field: 'embedding', query: { results: [], embedding: [1, 1e39] } },
    { field: 'embedding', query: { results: [], embedding: ['1'] } },
    { field: 'embedding', query: { results: [], embedding: 'AAAA' } },
    { field: 'embedding', query: { results: [], embedding: new Float32Array(16_385) } },
    { field: 'topK', query: { results: [], topK: 0 } },
    { field: 'topK', query: { results: [], topK: 2.5 } },
    { field: 'sessionId', query: { results: [], sessionId: true } },
    { field: 'latencyMs', query: { results: [], latencyMs: -1 } },
    { field: 'error', query: { error: 500 } },
    { field: 'segments', query: { results: [], segments: ['a'] } },
    { field: 'segments', query: { results: [], segments: { a: {} } } },
    {
      field: 'segments',
      query: { results: [], segments: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, 'a'])) },
    },
    { field: 'versions.index', query: { results: [], versions: { index: 7 } } },
    { field: 'sampling.probability', query: { results: [], sampling: {} } },
    { field: 'sampling.probability', query: { results: [], sampling: { probability: 0 } } },
  ])('is rejected for an invalid $field, which the reason names: %#', ({ field, query }) => {
    const create = () => createQueryRecord(query as Readonly<Record<string, unknown>>, context);
    expect(create).toThrow(InvalidField);
    expect(create).toThrow(`${field} `);
  });

  it('is invalid if neither the query nor the client names a pipeline', () => {
    expect(() => createQueryRecord({ results: [] }, { ...context, pipeline: undefined })).toThrow(
      'pipeline is missing',
    );
  });
});

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
// Only the daemon checks for control characters and invalid Unicode.
const text = fc.string({
  unit: fc.constantFrom('a', 'Z', '7', 'é', '界', '😀', '"', '\\', ' ', '\n'),
  maxLength: 200,
});
const identifier = fc.oneof(fc.stringMatching(/^[\w./:-]{1,40}$/), fc.integer());
const label = fc.stringMatching(/^[\w-]{1,20}$/);

const anyQuery: fc.Arbitrary<TrackedQuery> = fc.record({
  text: optional(text),
  embedding: optional(
    fc.oneof(
      fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 40 }),
      fc.float32Array({ minLength: 1, noNaN: true, noDefaultInfinity: true }),
    ),
  ),
  topK: optional(fc.integer({ min: 1, max: 10_000 })),
  sessionId: optional(identifier),
  results: fc.array(fc.oneof(identifier, fc.record({ id: identifier, score: optional(fc.double()) })), {
    maxLength: 20,
  }),
  latencyMs: optional(fc.double({ min: 0, max: 86_400_000, noNaN: true })),
  error: optional(text),
  segments: optional(fc.dictionary(label, fc.oneof(label, fc.boolean(), fc.integer()), { maxKeys: 16 })),
  userId: optional(identifier),
  versions: optional(fc.record({ index: optional(text), embedder: optional(text) })),
  sampling: optional(fc.record({ probability: fc.double({ min: 0.001, max: 1, noNaN: true }) })),
});

const anyFeedback: fc.Arbitrary<TrackedFeedback> = fc.record({
  queryId: identifier,
  kind: fc.constantFrom(...kindsOfTheDaemon),
  value: optional(fc.oneof(fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }), text)),
  documentId: optional(identifier),
  rank: optional(fc.integer({ min: 1, max: 10_000 })),
  userId: optional(identifier),
  comment: optional(text),
});

it('the daemon accepts every valid query and feedback item of the client', () => {
  fc.assert(
    fc.property(anyQuery, anyFeedback, (query, feedback) => {
      expect(liveQuerySchema.safeParse(sent(query)).error).toBeUndefined();
      expect(feedbackSchema.safeParse(sentFeedback(feedback)).error).toBeUndefined();
    }),
  );
});

it('the client sends a vector as its exact float32 values', () => {
  fc.assert(
    fc.property(fc.float32Array({ minLength: 1, maxLength: 50, noNaN: true, noDefaultInfinity: true }), (embedding) => {
      expect(liveQuerySchema.parse(sent({ results: [], embedding })).embedding).toEqual(embedding);
    }),
  );
});

it('the client never underestimates the length of an item on the wire', () => {
  fc.assert(
    fc.property(anyQuery, (query) => {
      const record = createQueryRecord(query as Readonly<Record<string, unknown>>, context);
      expect(record.bytes).toBeGreaterThanOrEqual(recordToJson(record).length);
    }),
  );
});

describe('tracked feedback', () => {
  it('reaches the daemon with every field under its name on the wire', () => {
    const feedback: TrackedFeedback = {
      id: 'f-1',
      queryId: 'q-1',
      pipeline: 'faq',
      kind: 'relevance',
      value: 2,
      documentId: 7,
      rank: 3,
      occurredAt: now,
      userId: 'u-1',
      comment: 'just what I needed',
    };
    expect(feedbackSchema.parse(sentFeedback(feedback))).toEqual({
      id: 'f-1',
      query_id: 'q-1',
      pipeline: 'faq',
      kind: 'relevance',
      value: 2,
      document_id: '7',
      rank: 3,
      occurred_at: '2026-11-20T15:45:00.000Z',
      user_id: 'u-1',
      comment: 'just what I needed',
    });
  });

  it('has the same kinds as the daemon', () => {
    expect([...feedbackKinds]).toEqual([...kindsOfTheDaemon]);
  });

  it.each<{ field: string; feedback: unknown }>([
    { field: 'queryId', feedback: { kind: 'thumb' } },
    { field: 'kind', feedback: { queryId: 'q', kind: 'applause' } },
    { field: 'kind', feedback: { queryId: 'q' } },
    { field: 'value', feedback: { queryId: 'q', kind: 'rating', value: Number.NaN } },
    { field: 'value', feedback: { queryId: 'q', kind: 'rating', value: {} } },
    { field: 'rank', feedback: { queryId: 'q', kind: 'click', rank: 0 } },
    { field: 'comment', feedback: { queryId: 'q', kind: 'thumb', comment: 1 } },
  ])('is rejected for an invalid $field, which the reason names: %#', ({ field, feedback }) => {
    const create = () => createFeedbackRecord(feedback as Readonly<Record<string, unknown>>, context);
    expect(create).toThrow(InvalidField);
    expect(create).toThrow(`${field} `);
  });
});

/** Fields of a contract, in alphabetical order. */
const known = (schema: { readonly shape: object }) => Object.keys(schema.shape).toSorted();

it('the client sends exactly the fields that the daemon accepts', () => {
  const query = sent({
    traceId: 't',
    episode: { id: 'e', step: 1, originalText: 't' },
    text: '',
    embedding: [1],
    topK: 1,
    sessionId: 1,
    results: [],
    latencyMs: 1,
    stages: [],
    error: 'timeout',
    segments: {},
    userId: 1,
    versions: {},
    sampling: { probability: 0.5 },
  });
  expect(Object.keys(query as object).toSorted()).toEqual(known(liveQuerySchema));
  const feedback = sentFeedback({
    id: 1,
    queryId: 1,
    kind: 'click',
    value: 1,
    documentId: 1,
    rank: 1,
    userId: 1,
    comment: '',
  });
  expect(Object.keys(feedback as object).toSorted()).toEqual(known(feedbackSchema));
});
