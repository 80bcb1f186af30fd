import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { embeddingSchema } from '../../../src/live/ingest-schema.ts';

function parsed(value: unknown): Float32Array | null {
  const result = embeddingSchema.safeParse(value);
  return result.success ? result.data : null;
}

const base64Of = (vector: Float32Array) => Buffer.from(vector.buffer).toString('base64');

it('is the same vector as numbers and as base64', () => {
  fc.assert(
    fc.property(fc.float32Array({ minLength: 1, maxLength: 40 }), (vector) => {
      expect(parsed([...vector])).toEqual(vector);
      expect(parsed(base64Of(vector))).toEqual(vector);
    }),
  );
});

it('is refused where a character is none of base64, one is missing, or there are too many', () => {
  const good = base64Of(Float32Array.from([0.1, 0.2, 0.3, 0.4, 0.5]));
  for (const odd of ['-', '_', ' ', '\n', '!', 'ñ', '=', '\u{1F600}']) {
    for (let at = 0; at < good.length - 1; at++) {
      expect(parsed(good.slice(0, at) + odd + good.slice(at + 1))).toBeNull();
    }
  }
  for (const bad of [
    '',
    '=',
    good.slice(0, -4),
    good.slice(4),
    `${good}==`,
    `${good}AAAA`,
    'A'.repeat(200_000),
  ]) {
    expect(parsed(bad)).toBeNull();
  }
});
