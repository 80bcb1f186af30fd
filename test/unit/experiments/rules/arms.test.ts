import { array, assert, boolean, constantFrom, double, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ArmsDesign, compareArms, sumArms, type UsedQuery } from '../../../../src/experiments/rules/arms.ts';
import type { SummedDay } from '../../../../src/experiments/rules/summed-days.ts';
import { sessionRatio } from '../../../../src/live/rules/feedback/click-rates.ts';
import { addSums, ratioOf } from '../../../../src/math/stats/session-sums.ts';

const design: ArmsDesign = {
  arms: [
    { name: 'current', share: 1 },
    { name: 'next', share: 1 },
  ],
  measures: ['positive_feedback', 'clicked_queries'],
  difference: 0.02,
};

/**
 * Returns the sums of one day.
 *
 * @param clicks number of sessions with a click, per arm
 * @param of number of sessions, per arm; each session has one query
 */
function aDay(day: number, clicks: readonly [current: number, next: number], of: readonly [number, number]): SummedDay {
  const sumsOf = (place: 0 | 1) => {
    const [n, k] = [of[place], clicks[place]];
    return [n, k, n, k, k, n, k, k, k, k, n];
  };
  return {
    day: `2026-11-${String(day).padStart(2, '0')}`,
    counts: { 'sessions current': of[0], 'sessions next': of[1], mixed: 0, unnamed: 0 },
    sums: { 'current clicked_queries': sumsOf(0), 'next clicked_queries': sumsOf(1) },
  };
}

const clicksOf = (days: readonly SummedDay[]) =>
  compareArms(days, design).arms[0]?.comparisons.find(({ measure }) => measure === 'clicked_queries');

describe('two arms', () => {
  it('are inconclusive while the difference may be due to chance, and otherwise get a verdict with its date', () => {
    expect(clicksOf([aDay(1, [200, 205], [500, 500])])).toMatchObject({ verdict: 'inconclusive', calledOn: null });
    expect(clicksOf([aDay(1, [40_000, 40_010], [100_000, 100_000])])).toMatchObject({ verdict: 'no_change' });
    expect(clicksOf([aDay(1, [200, 200], [500, 500]), aDay(2, [2000, 1500], [5000, 5000])])).toMatchObject({
      verdict: 'regression',
      calledOn: '2026-11-02',
    });
  });

  it('keep their verdict, whatever later days show', () => {
    const called = aDay(1, [2000, 2600], [5000, 5000]);
    const turned = Array.from({ length: 9 }, (_, i) => aDay(2 + i, [2600, 2000], [5000, 5000]));
    expect(clicksOf([called, ...turned])).toMatchObject({ verdict: 'improvement', calledOn: '2026-11-01' });
  });

  it('are not compared while almost all sessions have the same value', () => {
    expect(clicksOf([aDay(1, [0, 12], [5000, 5000])])).toMatchObject({ verdict: 'no_data', difference: null });
    expect(compareArms([], design).arms[0]).toMatchObject({ verdict: 'no_data' });
  });

  it('show a regression if a measure does, and get opposite verdicts when their names are swapped', () => {
    assert(
      property(array(integer({ min: 0, max: 400 }), { minLength: 2, maxLength: 8 }), (clicks) => {
        const days = clicks.map((count, i) => aDay(1 + i, [200, count], [400, 400]));
        const swapped = clicks.map((count, i) => aDay(1 + i, [count, 200], [400, 400]));
        const [one, other] = [clicksOf(days), clicksOf(swapped)];
        const opposite = { regression: 'improvement', improvement: 'regression' } as const;
        const verdict = one?.verdict ?? 'no_data';
        expect(other?.verdict).toBe(
          verdict === 'regression' || verdict === 'improvement' ? opposite[verdict] : verdict,
        );
        expect(compareArms(days, design).arms[0]?.verdict === 'regression').toBe(verdict === 'regression');
      }),
    );
  });
});

describe('the split', () => {
  it('is reported as a mismatch if it deviates from the declared shares, and then no arm is compared', () => {
    const found = compareArms([aDay(1, [2000, 1500], [5000, 4000])], design);
    expect(found.split).toMatchObject({ verdict: 'mismatch', calledOn: '2026-11-01' });
    expect(found.arms).toEqual([]);
  });

  it('is compared with the declared shares', () => {
    const arms = [
      { name: 'current', share: 5 },
      { name: 'next', share: 4 },
    ];
    const { split } = compareArms([aDay(1, [2000, 1500], [5000, 4000])], { ...design, arms });
    expect(split).toMatchObject({ verdict: 'as_declared', arms: [{ sessions: 5000 }, { sessions: 4000 }] });
    expect(split.arms[0]?.declared).toBeCloseTo(5 / 9, 12);
  });
});

function aQuery(parts: Partial<UsedQuery> = {}): UsedQuery {
  return {
    cluster: 0.1,
    arm: 'a',
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

describe('session sums', () => {
  it('add up to the ratio, variance and degrees of freedom of `sessionRatio`, however the sessions are divided', () => {
    assert(
      property(queries, (drawn) => {
        // Assigns every session to exactly one of two parts.
        const half = (session: number): number => session % 2;
        const parts = [0, 1].map((which) =>
          sumArms(
            '2026-11-20',
            ['a'],
            drawn.flatMap((one) =>
              half(one.session) === which ? [aQuery({ ...one, cluster: one.session / 100 })] : [],
            ),
            [],
          ),
        );
        const found = ratioOf(addSums(parts.map(({ sums }) => sums['a clicked_queries'] ?? [])));
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

  it('have no degrees of freedom if all sessions are equal, and no ratio without feedback', () => {
    const alike = [0.1, 0.2, 0.3].map((cluster) => aQuery({ cluster, probability: cluster, isClicked: true }));
    const { sums } = sumArms('2026-11-20', ['a'], alike, []);
    expect(ratioOf(sums['a clicked_queries'] ?? [])).toMatchObject({ value: 1, degreesOfFreedom: 0 });
    expect(ratioOf(sums['a positive_feedback'] ?? [])).toBeNull();
  });

  it('weight feedback by the probability of its query, so that rule-sampled queries do not count more', () => {
    const { sums } = sumArms(
      '2026-11-20',
      ['a'],
      [
        aQuery({ cluster: 0.05, probability: 0.1, positive: 1 }),
        ...Array.from({ length: 10 }, (_, i) => aQuery({ cluster: 0.2 + i / 100, negative: 1 })),
      ],
      [],
    );
    expect(ratioOf(sums['a positive_feedback'] ?? [])?.value).toBeCloseTo(0.5, 12);
  });
});

describe('sessions', () => {
  it('with several arms are excluded, and sessions with an undeclared arm are counted separately', () => {
    const day = sumArms(
      '2026-11-20',
      ['a', 'b'],
      [
        aQuery({ cluster: 0.1, arm: 'a' }),
        aQuery({ cluster: 0.1, arm: 'b' }),
        aQuery({ cluster: 0.2, arm: 'b' }),
        aQuery({ cluster: 0.3, arm: 'old' }),
      ],
      [{ cluster: 0.1, arm: 'a', probability: 0.5, score: 1 }],
    );
    expect(day).toMatchObject({ counts: { mixed: 1, unnamed: 1, 'sessions a': 0, 'sessions b': 1 } });
    expect(Object.keys(day.sums)).toEqual(['b clicked_queries']);
  });

  it('that only a rule sampled are excluded from the split, because an arm that fails more would have more of them', () => {
    const day = sumArms(
      '2026-11-20',
      ['a'],
      [aQuery({ cluster: 0.05, leastProbability: 0.1 }), aQuery({ cluster: 0.5, leastProbability: 0.1 })],
      [],
    );
    expect(day.counts['sessions a']).toBe(1);
  });
});
