import { describe, expect, it } from 'vitest';
import { percent, signed } from '../../../../src/core/text/spelling.ts';

describe('a number in a sentence', () => {
  it.each([
    [0.125, '12.5 %'],
    [1, '100.0 %'],
    [0, '0.0 %'],
  ])('is a percentage with one decimal: %d', (share, text) => {
    expect(percent(share)).toBe(text);
  });

  it.each([
    [0.0123, 3, '+0.012'],
    [-0.5, 4, '-0.5000'],
    [0, 3, '+0.000'],
  ])('has a sign where it is a difference: %d', (value, decimals, text) => {
    expect(signed(value, decimals)).toBe(text);
  });
});
