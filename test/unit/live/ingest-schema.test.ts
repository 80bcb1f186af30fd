import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { identifier } from '../../../src/http/fields.ts';
import { embeddingSchema, readLiveQueries, resultsSchema } from '../../../src/live/ingest-schema.ts';

/** What results are, said without regard to cost. */
const plain = z
  .array(
    z
      .strictObject({ id: identifier.optional(), score: z.number().optional(), text: z.string().optional() })
      .refine(({ id, text = '' }) => id !== undefined || /\P{White_Space}/u.test(text), {
        error: 'needs an id, or a text to make it of',
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
const anyResult = fc.oneof(
  { weight: 5, arbitrary: fc.record({ id: fc.string({ minLength: 1 }), score: fc.double({ noNaN: true }) }) },
  fc.record({ id: anyId, score: anyScore }, { requiredKeys: [] }),
  fc.record({ id: anyId, text: fc.oneof(fc.string(), fc.jsonValue()) }, { requiredKeys: [] }),
  fc.record({ id: anyId, rank: fc.nat() }, { requiredKeys: [] }),
  fc.jsonValue(),
);

it('results are taken and refused, for the same reason and at the same place, as one schema for each would do', () => {
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

it('of the texts of results their length and what they repeat goes on, and no text', () => {
  const said = 'the secret of the board is told to nobody at all';
  const body = { id: 'q', pipeline: 'docs', results: ['d1', 'd2'].map((id) => ({ id, score: 1, text: said })) };
  const [query] = readLiveQueries(body).items;
  expect(query).toMatchObject({ context: { characters: 2 * said.length, repeated: 0.5 } });
  expect(query?.results).toEqual([
    { id: 'd1', score: 1 },
    { id: 'd2', score: 1 },
  ]);
  expect(JSON.stringify(query)).not.toContain('secret');
});

function parsed(value: unknown): Float32Array | null {
  const result = embeddingSchema.safeParse(value);
  return result.success ? result.data : null;
}

const base64Of = (vector: Float32Array) => Buffer.from(vector.buffer).toString('base64');

it('an embedding is the same vector as numbers and as base64', () => {
  fc.assert(
    fc.property(fc.float32Array({ minLength: 1, maxLength: 40 }), (vector) => {
      expect(parsed([...vector])).toEqual(vector);
      expect(parsed(base64Of(vector))).toEqual(vector);
    }),
  );
});

it('an embedding is refused where a character is none of base64, one is missing, or there are too many', () => {
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
