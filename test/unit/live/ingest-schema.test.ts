import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { embeddingSchema } from '../../../src/live/embedding-schema.ts';
import {
  liveQuerySchema,
  plainLiveQuery,
  readFeedback,
  readLiveQueries,
  resultsSchema,
  toLiveQuery,
} from '../../../src/live/ingest-schema.ts';
import { identifier } from '../../../src/platform/http/fields.ts';

/** Reference schema of results, not optimized for speed. */
const plain = z
  .array(
    z
      .strictObject({ id: identifier.nullish(), score: z.number().nullish(), text: z.string().nullish() })
      .refine(({ id, text }) => typeof id === 'string' || /\P{White_Space}/u.test(text ?? ''), {
        error: 'needs an id, or a text from which to derive the id',
      }),
  )
  .max(1000);

const anyId = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', 'a\u0000', 'half \ud800', 'x'.repeat(1024), 'x'.repeat(1025)),
  fc.jsonValue(),
);
const anyScore = fc.oneof(
  fc.double(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, null, '1'),
  fc.jsonValue(),
);
const aResult = fc.record({ id: fc.string({ minLength: 1 }), score: fc.double({ noNaN: true }) });
const anyResult = fc.oneof(
  { weight: 5, arbitrary: aResult },
  fc.record({ id: anyId, score: anyScore }, { requiredKeys: [] }),
  fc.record({ id: anyId, text: fc.oneof(fc.string(), fc.jsonValue()) }, { requiredKeys: [] }),
  fc.record({ id: anyId, rank: fc.nat() }, { requiredKeys: [] }),
  fc.jsonValue(),
);

it('accepts and rejects the same results as the reference schema, with the same reason and path', () => {
  const reasonOf = (schema: z.ZodType, results: unknown) => {
    const { success, data, error } = z.object({ results: schema }).safeParse({ results });
    return success ? data : error?.issues.map(({ code, path, message }) => ({ code, path, message }));
  };
  const anyResults = fc.oneof(fc.array(anyResult, { maxLength: 5 }), fc.jsonValue(), fc.constant(undefined));
  fc.assert(
    fc.property(anyResults, (results) => {
      expect(reasonOf(resultsSchema, results)).toEqual(reasonOf(plain, results));
    }),
    { numRuns: 2000 },
  );
  const many = Array.from({ length: 1001 }, () => ({ id: 'd' }));
  expect(reasonOf(resultsSchema, many.slice(1))).toEqual(reasonOf(plain, many.slice(1)));
  expect(reasonOf(resultsSchema, many)).toEqual(reasonOf(plain, many));
});

/** Mostly valid values. */
function mostly(right: fc.Arbitrary<unknown>, ...wrong: readonly unknown[]): fc.Arbitrary<unknown> {
  const others = fc.oneof(fc.constantFrom(null, 7, '', {}, [], ...wrong), fc.jsonValue());
  return fc.oneof({ weight: 60, arbitrary: right }, { weight: 1, arbitrary: others });
}

const aText = fc.oneof(
  { weight: 30, arbitrary: fc.string({ unit: 'grapheme' }) },
  fc.constantFrom(
    'a\tb\r\n',
    'a\u0085',
    'a\u0000',
    'half \ud800',
    '\udc00 half',
    '😀',
    'x'.repeat(1000),
    'x'.repeat(1001),
  ),
);
const anIdentifier = mostly(
  fc.oneof({ weight: 30, arbitrary: fc.string({ minLength: 1, unit: 'grapheme-ascii' }) }, aText),
);

const anyItem = fc.record(
  {
    id: anIdentifier,
    pipeline: anIdentifier,
    results: mostly(fc.array(fc.oneof({ weight: 20, arbitrary: aResult }, anyResult), { maxLength: 3 })),
    occurred_at: mostly(fc.constantFrom('2026-11-20T15:45:00Z', '2026-11-20T15:45:00.123+01:00', '2026-11-20', 'now')),
    text: mostly(aText, 'x'.repeat(100_000), 'x'.repeat(100_001)),
    embedding: mostly(
      fc.oneof(fc.array(fc.double(), { minLength: 1, maxLength: 3 }), fc.constant('AACAPw==')),
      'AACAPw=',
      'AAC-Pw==',
    ),
    top_k: mostly(fc.integer({ min: 1, max: 10_000 }), 0, 10_001, 1.5, 1e300),
    session_id: anIdentifier,
    trace_id: anIdentifier,
    episode: mostly(
      fc.record(
        {
          id: anIdentifier,
          step: fc.oneof(
            { weight: 20, arbitrary: fc.nat() },
            fc.constantFrom(null, -1, 1.5, 1_000_000, 1_000_001, '1'),
          ),
          original_text: fc.oneof({ weight: 20, arbitrary: aText }, fc.constantFrom(null, 7)),
        },
        { requiredKeys: ['id'] },
      ),
      { step: 1 },
      { id: null },
      { id: 'e', turn: 1 },
    ),
    latency_ms: mostly(fc.double({ min: 0, max: 86_400_000, noNaN: true }), -1, 86_400_001),
    error: mostly(aText),
    segments: mostly(
      fc.dictionary(
        // Excludes `__proto__`, because the schema omits a key with this name.
        fc.string({ maxLength: 65 }).filter((key) => key !== '__proto__'),
        fc.string({ maxLength: 257 }),
        { maxKeys: 17 },
      ),
      Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])),
      { k: 'x'.repeat(257) },
    ),
    user_id: anIdentifier,
    stages: mostly(
      fc.uniqueArray(
        fc.record(
          {
            name: fc.string({ minLength: 1, maxLength: 66 }),
            latency_ms: fc.double({ min: 0, max: 86_400_001, noNaN: true }),
            results: fc.array(aResult, { maxLength: 3 }),
            side: fc.boolean(),
          },
          { requiredKeys: ['name'] },
        ),
        { maxLength: 11, selector: ({ name }) => name },
      ),
      [{ name: 'a' }, { name: 'a' }],
      [{ name: 'a', results: [{}] }],
    ),
    versions: mostly(fc.record({ index: aText, embedder: aText, retriever: aText }, { requiredKeys: [] }), {
      store: '1',
    }),
    sampling: mostly(
      fc.record({ probability: fc.double({ min: 0, max: 1, noNaN: true }) }),
      { probability: 1.1 },
      { p: 1 },
    ),
    colour: fc.constantFrom('red', undefined, undefined, undefined, undefined, undefined, undefined, undefined),
  },
  { requiredKeys: ['id', 'pipeline', 'results'] },
);

it('parses a query with hand-written checks to the same result as the schema', () => {
  let acceptedCount = 0;
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: anyItem }, fc.jsonValue()), (item) => {
      const sent: unknown = JSON.parse(JSON.stringify(item));
      const { success, data } = liveQuerySchema.safeParse(sent);
      const plainly = plainLiveQuery(sent);
      expect(plainly).toEqual(success ? toLiveQuery(data) : null);
      if (plainly !== null) acceptedCount += 1;
    }),
    { numRuns: 3000 },
  );
  // If fewer items were accepted, most fields would not have been tested.
  expect(acceptedCount).toBeGreaterThan(300);
});

it('leaves a query with a __proto__ key or a list of segments to the schema', () => {
  const right = { id: 'q', pipeline: 'docs', results: [] };
  for (const segments of [JSON.parse('{"__proto__": "a"}'), ['a']])
    expect(plainLiveQuery({ ...right, segments })).toBeNull();
  expect(plainLiveQuery(JSON.parse('{"id": "q", "pipeline": "docs", "results": [], "__proto__": {}}'))).toBeNull();
  expect(plainLiveQuery(right)).not.toBeNull();
});

it('keeps the length and the repeated share of result texts, but not the texts', () => {
  const secretText = 'the secret of the board must never be stored';
  const body = { id: 'q', pipeline: 'docs', results: ['d1', 'd2'].map((id) => ({ id, score: 1, text: secretText })) };
  const [query] = readLiveQueries(body).items;
  expect(query).toMatchObject({ context: { characters: 2 * secretText.length, repeated: 0.5 } });
  expect(query?.results).toEqual([
    { id: 'd1', score: 1 },
    { id: 'd2', score: 1 },
  ]);
  expect(JSON.stringify(query)).not.toContain('secret');
});

it('keeps the fields of result documents, except null fields', () => {
  const results = [
    { id: 'a', score: 1, fields: { region: 'eu', owner: null } },
    { id: 'b', score: 1, fields: { region: 'us' } },
    { id: 'c', score: 1, fields: null },
  ];
  const [query] = readLiveQueries({ id: 'q', pipeline: 'docs', results }).items;
  expect(query?.results).toEqual([
    { id: 'a', score: 1, fields: { region: 'eu' } },
    { id: 'b', score: 1, fields: { region: 'us' } },
    { id: 'c', score: 1 },
  ]);
});

it('keeps the document count of each stage, and the rank of each result in that stage', () => {
  const results = [{ id: 'b' }, { text: 'Open it.' }, { id: 'a' }];
  const stages = [
    {
      name: 'words',
      side: true,
      results: [{ id: 'a' }, { id: 'x' }, { text: 'Open  it.' }, { id: 'a' }],
      latency_ms: 4,
    },
    { name: 'reranked' },
  ];
  const [query] = readLiveQueries({ id: 'q', pipeline: 'docs', results, stages }).items;
  expect(query?.stages).toEqual([
    { name: 'words', isSide: true, latencyMs: 4, documents: 3, ranks: [null, 3, 1] },
    { name: 'reranked', isSide: false, latencyMs: null, documents: null, ranks: [] },
  ]);
});

function parsed(value: unknown): Float32Array | null {
  const result = embeddingSchema.safeParse(value);
  return result.success ? result.data : null;
}

const base64Of = (vector: Float32Array) => Buffer.from(vector.buffer).toString('base64');

it('parses the same vector from numbers and from base64', () => {
  fc.assert(
    fc.property(fc.float32Array({ minLength: 1, maxLength: 40 }), (vector) => {
      expect(parsed([...vector])).toEqual(vector);
      expect(parsed(base64Of(vector))).toEqual(vector);
    }),
  );
});

it('rejects an embedding with an invalid, missing or surplus base64 character', () => {
  const good = base64Of(Float32Array.from([0.1, 0.2, 0.3, 0.4, 0.5]));
  for (const odd of ['-', '_', ' ', '\n', '!', 'ñ', '=', '\u{1F600}']) {
    for (let at = 0; at < good.length - 1; at++) {
      expect(parsed(good.slice(0, at) + odd + good.slice(at + 1))).toBeNull();
    }
  }
  for (const bad of ['', '=', good.slice(0, -4), good.slice(4), `${good}==`, `${good}AAAA`, 'A'.repeat(200_000)]) {
    expect(parsed(bad)).toBeNull();
  }
});

it('treats null like a missing optional field, at any depth', () => {
  const sent = {
    id: 'q',
    pipeline: 'docs',
    results: [
      { id: 'a', score: null, text: null },
      { id: null, text: 'Open it.' },
    ],
    stages: [{ name: 'words', latency_ms: null, results: null, side: null }],
    versions: { index: null, embedder: 'e', retriever: null },
    segments: { tenant: null, language: 'de' },
    ...Object.fromEntries(
      [
        'occurred_at',
        'text',
        'embedding',
        'top_k',
        'session_id',
        'trace_id',
        'latency_ms',
        'error',
        'user_id',
        'sampling',
      ].map((name) => [name, null]),
    ),
  };
  const without = {
    id: 'q',
    pipeline: 'docs',
    results: [{ id: 'a' }, { text: 'Open it.' }],
    stages: [{ name: 'words' }],
    versions: { embedder: 'e' },
    segments: { language: 'de' },
  };
  expect(readLiveQueries(sent)).toEqual(readLiveQueries(without));
  expect(readLiveQueries(sent).items).toHaveLength(1);
  const feedback = { query_id: 'q', pipeline: 'docs', kind: 'copy' };
  const withNulls = {
    ...feedback,
    id: null,
    value: null,
    document_id: null,
    rank: null,
    occurred_at: null,
    comment: null,
  };
  expect(readFeedback(withNulls)).toEqual(readFeedback(feedback));
});

it.each<[object, string, string]>([
  [
    { results: [{ id: 'a' }, { id: 'b', score: '0.5' }] },
    'invalid_field',
    'results[1].score must be a number, not text.',
  ],
  [{ results: [{ id: 17 }] }, 'invalid_field', 'results[0].id must be text, not a whole number.'],
  [{ results: null }, 'invalid_field', 'results must be a list, not null.'],
  [{ results: undefined }, 'invalid_field', 'results is missing; it must be a list.'],
  [{ results: [{ id: '' }] }, 'invalid_field', 'results[0].id is empty.'],
  [{ results: [{ id: 'a', scor: 1 }] }, 'unknown_field', 'results[0].scor (did you mean score?) is not a known field'],
  [{ sesion_id: 's' }, 'unknown_field', 'sesion_id (did you mean session_id?) is not a known field'],
  [{ results: [{ id: 'a', scor: 1 }] }, 'unknown_field', 'results[0].scor (did you mean score?) is not a known field'],
  [{ results: [{ id: 'a', fields: { region: 1 } }] }, 'invalid_field', 'results[0].fields.region must be text'],
  [
    { results: [{ id: 'a', fields: { region: 'x'.repeat(129) } }] },
    'text_too_long',
    'results[0].fields.region has 129 characters, maximum 128',
  ],
  [
    { results: [{ id: 'a', fields: Object.fromEntries(Array.from('abcdefghi').map((key) => [key, key])) }] },
    'invalid_field',
    'results[0].fields has more than 8 keys',
  ],
  [{ results: [{ id: 'a', content: 'x' }] }, 'unknown_field', 'results[0].content is not a known field'],
  [{ versions: { idex: '1' } }, 'unknown_field', 'versions.idex (did you mean index?) is not a known field'],
  [{ score: 1 }, 'unknown_field', 'score is not a known field'],
  [{ pipeline: undefined, pipline: 'docs' }, 'unknown_field', 'pipline (did you mean pipeline?) is not a known field'],
  [{ top_k: 0 }, 'invalid_field', 'top_k must be at least 1.'],
  [{ top_k: 1.5 }, 'invalid_field', 'top_k must be a whole number, not a decimal number.'],
  [{ latency_ms: '12' }, 'invalid_field', 'latency_ms must be a number, not text.'],
  [{ segments: { tenant: 3 } }, 'invalid_field', 'segments.tenant must be text, not a whole number.'],
  [{ sampling: { probability: 0 } }, 'invalid_field', 'sampling.probability must be more than 0.'],
  [{ occurred_at: '2026-11-27T22:00:00' }, 'invalid_field', 'occurred_at must be an RFC 3339 time with T and a zone'],
  [{ occurred_at: 1795816800 }, 'invalid_field', 'not a whole number.'],
  [{ embedding: { values: [1] } }, 'invalid_field', 'embedding must be a list of numbers or a base64 string'],
])('rejects a query with %j and names the field and the problem', (part, code, message) => {
  const secret = 'the secret of the board';
  const { rejected } = readLiveQueries([{ id: 'q', pipeline: 'docs', results: [], text: secret, ...part }]);
  expect(rejected).toMatchObject([{ index: 0, code, message: expect.stringContaining(message) }]);
  expect(rejected[0]?.message).not.toContain(secret);
});

it('rejects invalid feedback and names the field and the problem', () => {
  const sent = { query_id: 'q', pipeline: 'docs', kind: 'thumb' };
  const messageOf = (part: object) => readFeedback({ ...sent, ...part }).rejected[0]?.message;
  expect(messageOf({ kind: 'like' })).toMatch(/^kind must be one of thumb, rating, .*, not text\.$/);
  expect(messageOf({ value: {} })).toBe('value must be a number or true or false or text, not an object.');
  expect(messageOf({ rank: 0 })).toBe('rank must be at least 1.');
  expect(messageOf({ query_id: null })).toBe('query_id must be text, not null.');
});

it('never quotes the values of an item in its rejection message', () => {
  const secret = 'zq7secret';
  const secrets = fc.constantFrom(secret, [secret], { a: secret }, [{ id: secret, score: secret }]);
  const names = fc.constantFrom(
    'id',
    'results',
    'text',
    'top_k',
    'segments',
    'stages',
    'versions',
    'sampling',
    'occurred_at',
  );
  fc.assert(
    fc.property(fc.dictionary(names, fc.oneof(secrets, fc.jsonValue()), { maxKeys: 5 }), (part) => {
      const { rejected } = readLiveQueries({ id: 'q', pipeline: 'docs', results: [], ...part });
      expect(rejected.map(({ message }) => message).join()).not.toContain(secret);
    }),
  );
});
