import { expect, it } from 'vitest';
import { FIRST_PLACE, randomPlace } from '../../../../../src/index/truth/rules/probe-estimates.ts';

it('selects places over the full 64-bit range', () => {
  expect(randomPlace(0)).toBe(FIRST_PLACE.place);
  expect(randomPlace(0.5)).toBe('0');
  expect(BigInt(randomPlace(1 - 2 ** -33))).toBeLessThan(2n ** 63n);
});
