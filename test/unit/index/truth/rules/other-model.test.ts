import { expect, it } from 'vitest';
import { isOfOtherModel } from '../../../../../src/index/truth/rules/findings.ts';

/** Returns a unit vector at the given angle, in degrees. */
const at = (degrees: number): Float32Array =>
  Float32Array.of(Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180));

it('attributes a vector to the same model only if it is near enough', () => {
  expect(isOfOtherModel({ stored: at(0), again: at(5), repeated: at(5) }, 0.98)).toBe(false);
  expect(isOfOtherModel({ stored: at(0), again: at(20), repeated: at(20) }, 0.98)).toBe(true);
});

it('tolerates several times the noise between two calls of an embedder', () => {
  expect(isOfOtherModel({ stored: at(0), again: at(20), repeated: at(32) }, 0.98)).toBe(false);
});

it('attributes a vector of a different dimension to a different model', () => {
  expect(isOfOtherModel({ stored: Float32Array.of(1), again: at(0), repeated: at(0) }, 0)).toBe(true);
});
