import { describe, expect, it } from 'vitest';
import { expectedSurprises, matchedDensity, referenceHalves } from '../../../../src/density/rules/matched-density.ts';
import { matrixOf } from '../../../../src/math/vector/matrix.ts';
import { nearestNeighbours } from '../../../../src/math/vector/nearest-neighbours.ts';
import { uniforms } from '../../../support/uniforms.ts';

const apart = (values: Float64Array): number[] => [...values.keys()];
const drawn = (count: number, uniform: () => number): Float64Array =>
  Float64Array.from({ length: count }, () => -Math.log(1 - uniform()));

describe('coverage against similar reference queries', () => {
  it('matches the definition', () => {
    // The first two queries are in one session: its mean is (1 + 0) / 2, that of the other session 2, each minus 0.5.
    const excess = Float64Array.of(1, 0, 2);
    const reference = Float64Array.of(0, 1, 0, 1);
    const { density, upperLimit } = matchedDensity(excess, [0, 0, 1], reference, 0.025);
    expect(density).toBeCloseTo(Math.exp(-0.75), 12);
    const error = Math.sqrt((1 / 3) * (1 / 2 + 1 / 4));
    expect(upperLimit).toBeCloseTo(Math.exp(-0.75 + 1.959963984540054 * error), 12);
    expect(matchedDensity(excess, [0, 0, 1], reference, 0.5).upperLimit).toBeCloseTo(density, 12);
  });

  it('excludes the density 1 in at most alpha of the windows without change', () => {
    const uniform = uniforms(11);
    const windows = 800;
    let below = 0;
    for (let i = 0; i < windows; i++) {
      const excess = drawn(150, uniform);
      if (matchedDensity(excess, apart(excess), drawn(400, uniform), 0.1).upperLimit < 1) below++;
    }
    // 0.1 of the windows, plus three standard deviations.
    expect(below / windows).toBeLessThan(0.1 + 3 * Math.sqrt(0.09 / windows));
    expect(below / windows).toBeGreaterThan(0.03);
  });

  it('is less certain for many queries from few sessions', () => {
    const uniform = uniforms(7);
    const [excess, reference] = [drawn(300, uniform), drawn(600, uniform)];
    const reach = (sessions: number[]): number => {
      const { density, upperLimit } = matchedDensity(excess, sessions, reference, 0.05);
      return upperLimit / density;
    };
    expect(reach(apart(excess).map((i) => i % 10))).toBeGreaterThan(reach(apart(excess)));
  });
});

describe('the expected surprise of a query', () => {
  it('is the mean of its neighbours', () => {
    const known = matrixOf([
      [1, 0],
      [1, 0.1],
      [0, 1],
    ]);
    const found = nearestNeighbours(
      known,
      matrixOf([
        [1, 0.05],
        [0.1, 1],
      ]),
      2,
    );
    const expected = expectedSurprises(found, 2, Float64Array.of(1, 2, 4));
    expect([...expected]).toEqual([1.5, 3]);
  });
});

describe('the two halves of a reference', () => {
  it('keep consecutive queries together', () => {
    const [even, odd] = referenceHalves(400);
    expect([even.length, odd.length]).toEqual([200, 200]);
    expect(even.slice(0, 21)).toEqual([...Array.from({ length: 20 }, (_, i) => i), 40]);
    expect([...even, ...odd].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, i) => i));
  });

  it('contain one query each for the smallest reference, and ten thousand in total for a large one', () => {
    expect(referenceHalves(2)).toEqual([[0], [1]]);
    const [even, odd] = referenceHalves(45_000);
    expect(even.length + odd.length).toBe(9_000);
    expect(Math.max(...even, ...odd)).toBe(44_995);
  });
});
