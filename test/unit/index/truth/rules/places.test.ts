import { expect, it } from 'vitest';
import { drawnPlace, FIRST_PLACE } from '../../../../../src/index/truth/rules/probe-estimates.ts';

it('draws places over all that 64 bits have', () => {
  expect(drawnPlace(0)).toBe(FIRST_PLACE.place);
  expect(drawnPlace(0.5)).toBe('0');
  expect(BigInt(drawnPlace(1 - 2 ** -33))).toBeLessThan(2n ** 63n);
});
