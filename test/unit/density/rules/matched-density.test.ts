import { array, assert, double, nat, property, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  expectedInBaseline,
  expectedSurprises,
  matchedDensity,
  matchedSurprise,
  type ReferenceQueries,
  referenceHalves,
} from '../../../../src/density/rules/matched-density.ts';
import { MAX_SURPRISE } from '../../../../src/density/rules/query-score.ts';
import { mean } from '../../../../src/math/stats/descriptive.ts';
import { matrixOf, selectRows } from '../../../../src/math/vector/matrix.ts';
import { nearestNeighbours } from '../../../../src/math/vector/nearest-neighbours.ts';
import { uniforms } from '../../../support/uniforms.ts';

const separateSessions = (values: Float64Array): number[] => [...values.keys()];
const drawn = (count: number, uniform: () => number): Float64Array =>
  Float64Array.from({ length: count }, () => -Math.log(1 - uniform()));

describe('coverage against similar reference queries', () => {
  it('equals the hand-computed value', () => {
    // The first two queries are in one session, with the mean (1 + 0) / 2; the other session has the mean 2. The
    // baseline mean, 0.5, is subtracted from both.
    const excess = Float64Array.of(1, 0, 2);
    const reference = Float64Array.of(0, 1, 0, 1);
    const { density, upperLimit } = matchedDensity(excess, [0, 0, 1], reference, 0.025);
    expect(density).toBeCloseTo(Math.exp(-0.75), 12);
    const error = Math.sqrt((1 / 3) * (1 / 2 + 1 / 4));
    expect(upperLimit).toBeCloseTo(Math.exp(-0.75 + 1.959963984540054 * error), 12);
    expect(matchedDensity(excess, [0, 0, 1], reference, 0.5).upperLimit).toBeCloseTo(density, 12);
  });

  it('excludes a density of 1 in at most a share alpha of unchanged windows', () => {
    const uniform = uniforms(11);
    const windows = 800;
    let below = 0;
    for (let i = 0; i < windows; i++) {
      const excess = drawn(150, uniform);
      if (matchedDensity(excess, separateSessions(excess), drawn(400, uniform), 0.1).upperLimit < 1) below++;
    }
    // At most a tenth of the windows may be below 1; the limit adds three standard deviations.
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
    expect(reach(separateSessions(excess).map((i) => i % 10))).toBeGreaterThan(reach(separateSessions(excess)));
  });
});

describe('the expected surprise of a query', () => {
  it('is the mean surprise of its nearest neighbours', () => {
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

  it('counts a row as often as it was queried, up to five queries in total', () => {
    const found = { k: 3, indices: Uint32Array.of(0, 1, 2), similarities: Float64Array.of(1, 0.9, 0.8) };
    const surprises = Float64Array.of(1, 2, 4);
    expect([...expectedSurprises(found, 1, surprises, Uint32Array.of(2, 9, 9))]).toEqual([(2 * 1 + 3 * 2) / 5]);
    expect([...expectedSurprises(found, 1, surprises, Uint32Array.of(1, 1, 1))]).toEqual([7 / 3]);
  });
});

describe('the matched surprise of a query', () => {
  const vectors = matrixOf([
    [1, 0],
    [0, 1],
  ]);
  const reference: ReferenceQueries = {
    vectors,
    surprises: Float64Array.of(2, 0.5),
    // The first query was asked only in even blocks.
    counts: [Uint32Array.of(7, 3), Uint32Array.of(0, 6)],
  };

  it('is its surprise minus the mean surprise of similar queries in both halves of the baseline', () => {
    const [first = 0, second = 0] = expectedInBaseline(vectors, reference);
    // For the first query, the five nearest queries in the even half are equal to it, and those in the odd half are
    // not. For the second query, three of the five nearest queries in the even half are equal to it, and all five in
    // the odd half.
    expect(first).toBeCloseTo((2 + 0.5) / 2, 12);
    expect(second).toBeCloseTo(((3 * 0.5 + 2 * 2) / 5 + 0.5) / 2, 12);
    expect(matchedSurprise(3, first, 0.25)).toBeCloseTo(0.99 + 3 - 1.25 - 0.25, 12);
    expect(matchedSurprise(0, 2.5, 0.25)).toBeCloseTo(0.99 - 2 - 0.25, 12);
  });

  it('is its surprise minus the mean surprise of the baseline if all reference queries were erased', () => {
    const none = new Uint32Array(0);
    const erased = { vectors: matrixOf([]), surprises: new Float64Array(0), counts: [none, none] as const };
    expect([...expectedInBaseline(vectors, erased)]).toEqual([0.99, 0.99]);
    const odd = { ...reference, counts: [Uint32Array.of(0, 0), Uint32Array.of(0, 6)] as const };
    expect([...expectedInBaseline(vectors, odd)]).toEqual([0.5, 0.5]);
  });

  it('expects a surprise between those of the reference queries, whichever other queries are searched', () => {
    const angle = double({ min: 0, max: Math.PI, noNaN: true });
    const asked = tuple(angle, double({ min: 0, max: MAX_SURPRISE, noNaN: true }), nat(9), nat(9));
    const rowsOf = (angles: readonly number[]) => matrixOf(angles.map((a) => [Math.cos(a), Math.sin(a)]));
    assert(
      property(array(asked, { minLength: 1 }), array(angle, { minLength: 1 }), (queries, angles) => {
        const known: ReferenceQueries = {
          vectors: rowsOf(queries.map(([a]) => a)),
          surprises: Float64Array.from(queries, ([, x]) => x),
          counts: [Uint32Array.from(queries, ([, , n]) => n + 1), Uint32Array.from(queries, ([, , , n]) => n)],
        };
        const expected = [...expectedInBaseline(rowsOf(angles), known)];
        for (const x of expected) {
          expect(x).toBeGreaterThanOrEqual(Math.min(...known.surprises) - 1e-9);
          expect(x).toBeLessThanOrEqual(Math.max(...known.surprises) + 1e-9);
        }
        expect(expected).toEqual(angles.map((a) => expectedInBaseline(rowsOf([a]), known)[0]));
      }),
    );
  });

  it('equals the mean of two separate searches, whichever rows the halves share', () => {
    const shares = tuple(nat(2), nat(2));
    assert(
      property(array(shares, { minLength: 1, maxLength: 40 }), nat(), (rows, seed) => {
        const uniform = uniforms(seed);
        const random = (count: number) =>
          matrixOf(Array.from({ length: count }, () => Array.from({ length: 6 }, () => uniform() - 0.5)));
        const [live, known] = [random(9), random(rows.length)];
        const surprises = drawn(rows.length, uniform);
        const counts = [0, 1].map((half) => Uint32Array.from(rows, (row) => row[half as 0 | 1]));
        const separate = counts.flatMap((own) => {
          const members = [...own.keys()].filter((row) => own[row] !== 0);
          if (members.length === 0) return [];
          const found = nearestNeighbours(selectRows(known, members), live, 5);
          const [x, n] = [members.map((row) => surprises[row] ?? 0), members.map((row) => own[row] ?? 0)];
          return [expectedSurprises(found, live.rows, Float64Array.from(x), Uint32Array.from(n))];
        });
        const reference = { vectors: known, surprises, counts: counts as [Uint32Array, Uint32Array] };
        expect([...expectedInBaseline(live, reference)]).toEqual(
          Array.from({ length: live.rows }, (_, row) =>
            separate.length === 0 ? 0.99 : mean(separate.map((values) => values[row] ?? 0)),
          ),
        );
      }),
    );
  });
});

describe('the two halves of a reference', () => {
  it('keep consecutive queries together', () => {
    const [even, odd] = referenceHalves(400);
    expect([even.length, odd.length]).toEqual([200, 200]);
    expect(even.slice(0, 21)).toEqual([...Array.from({ length: 20 }, (_, i) => i), 40]);
    expect([...even, ...odd].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, i) => i));
  });

  it('contain one query each for the smallest reference, and at most ten thousand in total for a large one', () => {
    expect(referenceHalves(2)).toEqual([[0], [1]]);
    const [even, odd] = referenceHalves(45_000);
    expect(even.length + odd.length).toBe(9_000);
    expect(Math.max(...even, ...odd)).toBe(44_995);
  });
});
