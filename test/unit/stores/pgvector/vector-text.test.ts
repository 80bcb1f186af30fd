import { assert, float32Array, property } from 'fast-check';
import { expect, it } from 'vitest';
import { parseVector, vectorText } from '../../../../src/stores/pgvector/rows.ts';

it('a vector comes back from its text to the last bit', () => {
  assert(
    property(float32Array({ noNaN: true, noDefaultInfinity: true }), (vector) => {
      // PostgreSQL knows one zero.
      const positive = vector.map((value) => value + 0);
      expect(parseVector(vectorText(vector))).toEqual(positive);
    }),
  );
});
