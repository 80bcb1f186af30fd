import { assert, constantFrom, integer, property, uniqueArray } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rankBiasedOverlap } from '../../../../src/math/ir/ranking.ts';

const rankings = uniqueArray(constantFrom(...'abcdefghijkl'.split('')), { maxLength: 12 });

/**
 * Reference implementation for rankings of equal length: weighted sum of the agreement at each depth; the agreement at
 * the last rank applies to all greater depths.
 */
function byDefinition(a: readonly string[], b: readonly string[], p: number): number {
  const overlap = (depth: number) => a.slice(0, depth).filter((id) => b.slice(0, depth).includes(id)).length;
  let sum = 0;
  for (let depth = 1; depth <= 500; depth += 1) {
    const seen = Math.min(depth, a.length);
    sum += (1 - p) * p ** (depth - 1) * (overlap(seen) / seen);
  }
  return sum;
}

describe('rank-biased overlap', () => {
  it.each([
    ['two identical rankings', 'abcd', 'abcd', 1],
    ['two rankings with nothing in common', 'abcd', 'efgh', 0],
    ['two empty rankings', '', '', 1],
    ['a ranking and an empty one', 'abcd', '', 0],
    ['two swapped documents', 'ab', 'ba', 0.9],
    ['a ranking and its own beginning', 'abcdef', 'abc', 1],
  ])('of %s follows the definition', (_, a, b, expected) => {
    expect(rankBiasedOverlap(a.split(''), b.split(''), 10)).toBeCloseTo(expected, 12);
  });

  it('equals the sum in the definition for rankings of equal length', () => {
    assert(
      property(rankings, rankings, (a, b) => {
        const length = Math.min(a.length, b.length);
        const [one, other] = [a.slice(0, length), b.slice(0, length)];
        if (length > 0) expect(rankBiasedOverlap(one, other, 12)).toBeCloseTo(byDefinition(one, other, 0.9), 9);
      }),
    );
  });

  it('is symmetric, between 0 and 1, and 1 for a ranking with itself', () => {
    assert(
      property(rankings, rankings, integer({ min: 1, max: 12 }), (a, b, k) => {
        const overlap = rankBiasedOverlap(a, b, k);
        expect(overlap).toBeCloseTo(rankBiasedOverlap(b, a, k), 12);
        expect(overlap).toBeGreaterThanOrEqual(0);
        expect(overlap).toBeLessThanOrEqual(1);
        expect(rankBiasedOverlap(a, a, k)).toBeCloseTo(1, 12);
      }),
    );
  });

  it('drops more after a change near the top than after a change further down', () => {
    assert(
      property(integer({ min: 0, max: 4 }), (place) => {
        const ranking = ['a', 'b', 'c', 'd', 'e', 'f'];
        const changedAt = (at: number) => ranking.map((id, index) => (index === at ? 'other' : id));
        expect(rankBiasedOverlap(ranking, changedAt(place), 6)).toBeLessThan(
          rankBiasedOverlap(ranking, changedAt(place + 1), 6),
        );
      }),
    );
  });
});
