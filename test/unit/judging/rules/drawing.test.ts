import { array, assert, boolean, constantFrom, double, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawingProbabilities, judgeDraw } from '../../../../src/judging/rules/drawing.ts';

const queries = array(
  record({
    represents: double({ min: 1, max: 1000, noNaN: true }),
    segment: constantFrom('course=maths', 'course=history', 'other'),
    isSuspect: boolean(),
  }),
  { minLength: 1, maxLength: 50 },
);

describe('drawing probabilities', () => {
  it('add up to the expected number of queries and never exceed 1', () => {
    assert(
      property(queries, double({ min: 0.1, max: 60, noNaN: true }), (kept, expected) => {
        const found = drawingProbabilities(kept, expected);
        const sum = found.reduce((total, one) => total + one, 0);
        expect(sum).toBeCloseTo(Math.min(kept.length, expected), 6);
        for (const one of found) expect(one > 0 && one <= 1).toBe(true);
      }),
    );
  });

  it('are doubled for suspect queries, and proportional to the number of queries that each query represents', () => {
    const kept = [
      { represents: 1, segment: 'all', isSuspect: false },
      { represents: 1, segment: 'all', isSuspect: true },
      { represents: 10, segment: 'all', isSuspect: false },
    ];
    const [one = 0, suspect = 0, many = 0] = drawingProbabilities(kept, 0.13);
    expect([one, suspect / one, many / one].map((x) => Math.round(1e6 * x) / 1e6)).toEqual([0.01, 2, 10]);
  });

  it('oversample small segments, while large segments still get most of the queries', () => {
    const of = (segment: string, count: number) =>
      Array.from({ length: count }, () => ({ represents: 1, segment, isSuspect: false }));
    const found = drawingProbabilities([...of('large', 900), ...of('small', 100)], 40);
    const large = found.slice(0, 900).reduce((sum, one) => sum + one, 0);
    expect(large).toBeCloseTo(30, 6);
  });

  it('are all 0 when no query is expected', () => {
    expect(drawingProbabilities([{ represents: 1, segment: 'all', isSuspect: true }], 0)).toEqual([0]);
  });
});

describe('the random number of a session', () => {
  it('is uniform and independent between kinds of judges', () => {
    const draws = Array.from({ length: 4000 }, (_, i) => [
      judgeDraw('docs', `session ${i}`, 'model'),
      judgeDraw('docs', `session ${i}`, 'people'),
    ]);
    const mean = (of: readonly number[]): number => of.reduce((sum, one) => sum + one, 0) / of.length;
    const [model, people] = [draws.map(([one = 0]) => one), draws.map(([, one = 0]) => one)];
    expect(mean(model)).toBeCloseTo(0.5, 1);
    expect(mean(people)).toBeCloseTo(0.5, 1);
    expect(mean(model.map((one, i) => (one - 0.5) * ((people[i] ?? 0) - 0.5)))).toBeCloseTo(0, 2);
  });

  it('is the same on every replica', () => {
    expect(judgeDraw('docs', 'a', 'model')).toBe(judgeDraw('docs', 'a', 'model'));
  });
});
