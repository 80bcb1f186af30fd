import { array, assert, boolean, constantFrom, double, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sessionRatio } from '../../../../src/live/rules/feedback/click-rates.ts';
import { addSums, ratioOf } from '../../../../src/math/stats/session-sums.ts';
import { sumDay, type VariantQuery } from '../../../../src/variants/rules/compare-arms.ts';

function aQuery(parts: Partial<VariantQuery> = {}): VariantQuery {
  return {
    cluster: 0.1,
    variant: 'a',
    probability: 1,
    leastProbability: 1,
    isClicked: false,
    positive: 0,
    negative: 0,
    ...parts,
  };
}

const queries = array(
  record({
    session: integer({ min: 0, max: 30 }),
    probability: double({ min: 0.01, max: 1, noNaN: true }),
    isClicked: boolean(),
    positive: integer({ min: 0, max: 2 }),
    negative: integer({ min: 0, max: 2 }),
    half: constantFrom(0, 1),
  }),
  { minLength: 2, maxLength: 60 },
);

describe('sums over sessions', () => {
  it('give the ratio, its variance and degrees of freedom as `sessionRatio` has them, over any parts', () => {
    assert(
      property(queries, (drawn) => {
        // A session lies in one part.
        const half = (session: number): number => session % 2;
        const parts = [0, 1].map((which) =>
          sumDay(
            '2026-11-20',
            ['a'],
            drawn.flatMap((one) =>
              half(one.session) === which ? [aQuery({ ...one, cluster: one.session / 100 })] : [],
            ),
            [],
          ),
        );
        const found = ratioOf(addSums(parts.map(({ arms }) => arms['a']?.measures.clicked_queries ?? [])));
        const known = sessionRatio(
          drawn.map(({ session: cluster, probability, isClicked }) => ({
            cluster,
            probability,
            numerator: isClicked ? 1 : 0,
            denominator: 1,
          })),
        );
        if (known.kind === 'insufficient_data' || found === null) return;
        expect(found.value).toBeCloseTo(known.value, 9);
        expect(found.sessions).toBe(known.sessions);
        expect(found.variance).toBeCloseTo(known.variance, 9);
        if (known.variance > 1e-6) expect(found.degreesOfFreedom).toBeCloseTo(known.degreesOfFreedom, 4);
      }),
    );
  });

  it('know no spread where all sessions are alike', () => {
    const alike = [0.1, 0.2, 0.3].map((cluster) => aQuery({ cluster, probability: cluster, isClicked: true }));
    const { arms } = sumDay('2026-11-20', ['a'], alike, []);
    expect(ratioOf(arms['a']?.measures.clicked_queries ?? [])).toMatchObject({ value: 1, degreesOfFreedom: 0 });
    expect(ratioOf(arms['a']?.measures.positive_feedback ?? [])).toBeNull();
  });

  it('weigh an opinion by the chance of its query, so that what is always kept does not count more', () => {
    const { arms } = sumDay(
      '2026-11-20',
      ['a'],
      [
        aQuery({ cluster: 0.05, probability: 0.1, positive: 1 }),
        ...Array.from({ length: 10 }, (_, i) => aQuery({ cluster: 0.2 + i / 100, negative: 1 })),
      ],
      [],
    );
    expect(ratioOf(arms['a']?.measures.positive_feedback ?? [])?.value).toBeCloseTo(0.5, 12);
  });
});

describe('sessions', () => {
  it('of several arms count for none, and those of a value that is no arm are told', () => {
    const day = sumDay(
      '2026-11-20',
      ['a', 'b'],
      [
        aQuery({ cluster: 0.1, variant: 'a' }),
        aQuery({ cluster: 0.1, variant: 'b' }),
        aQuery({ cluster: 0.2, variant: 'b' }),
        aQuery({ cluster: 0.3, variant: 'old' }),
      ],
      [{ cluster: 0.1, variant: 'a', probability: 0.5, score: 1 }],
    );
    expect(day).toMatchObject({ mixed: 1, unnamed: 1, arms: { a: { sessions: 0, measures: {} }, b: { sessions: 1 } } });
  });

  it('that a rule kept are no part of the split: a variant that fails more would have more of them', () => {
    const day = sumDay(
      '2026-11-20',
      ['a'],
      [aQuery({ cluster: 0.05, leastProbability: 0.1 }), aQuery({ cluster: 0.5, leastProbability: 0.1 })],
      [],
    );
    expect(day.arms['a']?.sessions).toBe(1);
  });
});
