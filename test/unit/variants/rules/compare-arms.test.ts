import { array, assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareArms,
  levelOf,
  type VariantDay,
  type VariantDesign,
} from '../../../../src/variants/rules/compare-arms.ts';

const design: VariantDesign = {
  arms: [
    { name: 'current', share: 1 },
    { name: 'next', share: 1 },
  ],
  measures: ['positive_feedback', 'clicked_queries'],
  difference: 0.02,
};

/** So many sessions of one query of each arm, of which so many clicked. */
function aDay(
  day: number,
  clicks: readonly [current: number, next: number],
  of: readonly [number, number],
): VariantDay {
  const armOf = (place: 0 | 1) => {
    const [n, k] = [of[place], clicks[place]];
    return { sessions: n, measures: { clicked_queries: [n, k, n, k, k, n, k, k, k, k, n] } };
  };
  const arms = { current: armOf(0), next: armOf(1) };
  return { day: `2026-11-${String(day).padStart(2, '0')}`, arms, mixed: 0, unnamed: 0 };
}

const clicksOf = (days: readonly VariantDay[]) =>
  compareArms(days, design).arms[0]?.comparisons.find(({ measure }) => measure === 'clicked_queries');

describe('two arms', () => {
  it('are undecided within chance, alike once no difference that matters is left, and say the day of a call', () => {
    expect(clicksOf([aDay(1, [200, 205], [500, 500])])).toMatchObject({ verdict: 'undecided', calledOn: null });
    expect(clicksOf([aDay(1, [40_000, 40_010], [100_000, 100_000])])).toMatchObject({ verdict: 'alike' });
    expect(clicksOf([aDay(1, [200, 200], [500, 500]), aDay(2, [2000, 1500], [5000, 5000])])).toMatchObject({
      verdict: 'worse',
      calledOn: '2026-11-02',
    });
  });

  it('stay called, whatever later days say', () => {
    const called = aDay(1, [2000, 2600], [5000, 5000]);
    const turned = Array.from({ length: 9 }, (_, i) => aDay(2 + i, [2600, 2000], [5000, 5000]));
    expect(clicksOf([called, ...turned])).toMatchObject({ verdict: 'better', calledOn: '2026-11-01' });
  });

  it('are not told apart while few sessions differ from the others', () => {
    expect(clicksOf([aDay(1, [0, 12], [5000, 5000])])).toMatchObject({ verdict: 'no_data', difference: null });
    expect(compareArms([], design).arms[0]).toMatchObject({ verdict: 'no_data' });
  });

  it('are worse where any measure is, and turn over where their names do', () => {
    assert(
      property(array(integer({ min: 0, max: 400 }), { minLength: 2, maxLength: 8 }), (clicks) => {
        const days = clicks.map((count, i) => aDay(1 + i, [200, count], [400, 400]));
        const swapped = clicks.map((count, i) => aDay(1 + i, [count, 200], [400, 400]));
        const [one, other] = [clicksOf(days), clicksOf(swapped)];
        const opposite = { worse: 'better', better: 'worse' } as const;
        const verdict = one?.verdict ?? 'no_data';
        expect(other?.verdict).toBe(verdict === 'worse' || verdict === 'better' ? opposite[verdict] : verdict);
        expect(compareArms(days, design).arms[0]?.verdict === 'worse').toBe(verdict === 'worse');
      }),
    );
  });
});

describe('the split', () => {
  it('that is off is said first, and withholds what else there is', () => {
    const found = compareArms([aDay(1, [2000, 1500], [5000, 4000])], design);
    expect(found.split).toMatchObject({ verdict: 'mismatch', calledOn: '2026-11-01' });
    expect(found.arms[0]).toMatchObject({
      verdict: 'withheld',
      comparisons: [{ verdict: 'withheld' }, { calledOn: null }],
    });
  });

  it('is held against the declared shares', () => {
    const arms = [
      { name: 'current', share: 5 },
      { name: 'next', share: 4 },
    ];
    const { split } = compareArms([aDay(1, [2000, 1500], [5000, 4000])], { ...design, arms });
    expect(split).toMatchObject({ verdict: 'as_declared', arms: [{ sessions: 5000 }, { sessions: 4000 }] });
    expect(split.arms[0]?.declared).toBeCloseTo(5 / 9, 12);
  });
});

it('shares the chance of a false call between all measures and arms', () => {
  const three = { arms: [...design.arms, { name: 'third', share: 1 }], measures: design.measures };
  expect(levelOf(three) * 4).toBeCloseTo(0.01, 12);
});
