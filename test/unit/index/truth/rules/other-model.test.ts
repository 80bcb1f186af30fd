import { expect, it } from 'vitest';
import { isOfOtherModel } from '../../../../../src/index/truth/rules/findings.ts';

/** At an angle, in degrees. */
const at = (degrees: number): Float32Array =>
  Float32Array.of(Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180));

it('takes a vector that is near enough for one of the same model', () => {
  expect(isOfOtherModel({ stored: at(0), again: at(5), repeated: at(5) }, 0.98)).toBe(false);
  expect(isOfOtherModel({ stored: at(0), again: at(20), repeated: at(20) }, 0.98)).toBe(true);
});

it('allows an embedder several times what it differs by from call to call', () => {
  expect(isOfOtherModel({ stored: at(0), again: at(20), repeated: at(32) }, 0.98)).toBe(false);
});

it('takes another length for another model', () => {
  expect(isOfOtherModel({ stored: Float32Array.of(1), again: at(0), repeated: at(0) }, 0)).toBe(true);
});
