/** For any span content, extraction returns only data that the database accepts. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { extractLogFeedback } from '../../../../../src/live/rules/otel/feedback.ts';
import {
  type Attributes,
  type AttributeValue,
  readId,
  readText,
  readVector,
} from '../../../../../src/live/rules/otel/span.ts';
import { aLogRecord, aSpan, extract, options } from './telemetry.ts';

const names = [
  'openinference.span.kind',
  'gen_ai.operation.name',
  'gen_ai.retrieval.query.text',
  'gen_ai.retrieval.documents',
  'gen_ai.retrieval.top_k',
  'retrieval.documents.0.document.id',
  'retrieval.documents.1.document.score',
  'retrieval.documents',
  'input.value',
  'output.value',
  'db.query.result.id',
  'db.vector.query.result_count',
  'embedding.vector',
  'embedding.embeddings.0.embedding.vector',
  'reranker.output_documents.0.document.id',
  'annotations.0.annotation.name',
  'annotations.0.annotation.label',
  'annotations.0.annotation.score',
  'annotations.0.annotation.metadata',
  'gen_ai.evaluation.name',
  'gen_ai.evaluation.score.value',
  'session.id',
  'metadata',
  'error.type',
  'sampling.probability',
];

const words = fc.constantFrom<AttributeValue>(
  'RETRIEVER',
  'EMBEDDING',
  'RERANKER',
  'EVALUATOR',
  'retrieval',
  'rating',
  'relevance',
  'up',
  '{"document_position":1e300}',
  '[[[[[',
  '{"documents":[1,null,"x",{"id":"\\u0000"},{"id":[1]},{"metadata":{"source":{}}}]}',
);

const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  { weight: 3, arbitrary: words },
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.json(),
  fc.array(fc.double()),
  fc
    .array(fc.dictionary(fc.constantFrom('id', 'score', 'content', '__proto__'), fc.jsonValue()))
    .map((documents) => JSON.parse(JSON.stringify(documents))),
);

const attributes: fc.Arbitrary<Attributes> = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 8 });

const documents = { 'retrieval.documents.2.document.id': 'a', 'retrieval.documents.7.document.content': 'b' };
const roles = fc.constantFrom<Attributes>(
  { 'openinference.span.kind': 'RETRIEVER', ...documents },
  { 'gen_ai.operation.name': 'retrieval', ...documents },
  { 'openinference.span.kind': 'RERANKER', 'reranker.output_documents.3.document.id': 'a' },
  { 'openinference.span.kind': 'EMBEDDING', 'embedding.embeddings.4.embedding.vector': [1, 2] },
  { 'openinference.span.kind': 'EVALUATOR', 'annotations.5.annotation.name': 'thumb' },
  {},
);

const span = fc
  .record({
    id: fc.integer({ min: 1, max: 6 }),
    parent: fc.integer({ min: 1, max: 6 }),
    attributes: fc.tuple(roles, attributes).map(([role, given]) => ({ ...role, ...given })),
    events: fc.array(
      fc.tuple(fc.constantFrom('db.query.result', 'gen_ai.evaluation.result', 'exception'), attributes),
      { maxLength: 3 },
    ),
    startTimeUnixNano: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    endTimeUnixNano: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    traceState: fc.string(),
  })
  .map(aSpan);

/** Values that PostgreSQL or the HTTP contract would reject. */
const unstorable = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u;

it('extracts only live queries and feedback that can be stored, and never fails', () => {
  let queryCount = 0;
  fc.assert(
    fc.property(fc.array(span, { maxLength: 6 }), (spans) => {
      const { queries, feedback, ignoredSpans } = extract(spans, { segmentKeysOf: () => ['tenant', 'id'] });
      queryCount += queries.length;
      expect(new Set(queries.map(({ id }) => id)).size).toBe(queries.length);
      expect(ignoredSpans).toBeGreaterThanOrEqual(0);
      for (const query of queries) {
        const texts = [query.text, query.error, query.sessionId, query.userId, ...Object.values(query.versions)];
        for (const text of texts) expect(text ?? '').not.toMatch(unstorable);
        for (const { id, score } of query.results) {
          expect(id).toMatch(/^[^\p{Cc}\p{Cs}]{1,1024}$/u);
          expect(score === null || Number.isFinite(score)).toBe(true);
        }
        expect(query.occurredAt?.getTime()).not.toBeNaN();
        expect(query.upstreamProbability).toBeGreaterThan(0);
        expect(query.upstreamProbability).toBeLessThanOrEqual(1);
        expect(query.latencyMs ?? 0).toBeGreaterThanOrEqual(0);
      }
      for (const { value, rank, comment } of feedback) {
        expect(value).not.toBeNull();
        expect(value).not.toBeNaN();
        expect(rank ?? 1).toBeLessThanOrEqual(10_000);
        expect(comment ?? '').not.toMatch(unstorable);
      }
    }),
    { numRuns: 60 },
  );
  // With too few queries, the property would hold trivially.
  expect(queryCount).toBeGreaterThan(10);
});

it('reads log records of any content without failing', () => {
  fc.assert(
    fc.property(
      fc.array(
        attributes.map((given) => aLogRecord({ attributes: given })),
        { maxLength: 4 },
      ),
      (records) => {
        expect(extractLogFeedback(records, options).length).toBeLessThanOrEqual(records.length);
      },
    ),
  );
});

it('reads a vector as float32, whether it comes as numbers or as JSON text', () => {
  const floats = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 });
  fc.assert(
    fc.property(floats, (numbers) => {
      const isZero = numbers.every((number) => number === 0);
      const expected = isZero ? null : Float32Array.from(numbers);
      expect(readVector(numbers)).toEqual(expected);
      const rounded = isZero ? null : Float32Array.from(JSON.parse(JSON.stringify(numbers)));
      expect(readVector(JSON.stringify(numbers))).toEqual(rounded);
    }),
  );
});

it('rejects possibly rounded integers, overlong texts and redacted values as ids, and truncates other overlong texts', () => {
  expect(
    [2 ** 53, 1.5, 'x'.repeat(1025), '', '__REDACTED__', "[Scrubbed due to 'session']", null, true].map((value) =>
      readId(value),
    ),
  ).toEqual(Array.from({ length: 8 }, () => null));
  expect([7, -7, 'x'.repeat(1024)].map((value) => readId(value))).toEqual(['7', '-7', 'x'.repeat(1024)]);
  expect(readText('x'.repeat(100_001))).toHaveLength(100_000);
});
