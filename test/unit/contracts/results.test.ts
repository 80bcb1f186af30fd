import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { identifier } from '../../../src/http/fields.ts';
import { resultsSchema } from '../../../src/live/ingest-schema.ts';

/** What results are, said without regard to cost. */
const plain = z.array(z.strictObject({ id: identifier, score: z.number().optional() })).max(1000);

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
