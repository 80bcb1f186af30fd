import { array, assert, integer, property, uniqueArray } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomNumbers } from '../../../../bench/random-numbers.ts';
import {
  type LivePair,
  overlapOf,
  scorePair,
  statusOfPairs,
  sumPairs,
  weightedShare,
} from '../../../../src/experiments/rules/live-pairs.ts';
import { type SummedDay, totalOf } from '../../../../src/experiments/rules/summed-days.ts';

const dayOf = (number: number): string => new Date(Date.UTC(2026, 0, 1 + number)).toISOString().slice(0, 10);

/** Days of 40 queries in sessions of two; the candidate's mean score exceeds the baseline's by `difference`. */
function daysOfPairs(difference: number, days: number, seed = 7): SummedDay[] {
  const random = randomNumbers(seed);
  return Array.from({ length: days }, (_, day) => {
    const pairs = Array.from({ length: 40 }, (_, place): LivePair => {
      const candidate = 0.5 + difference + 0.2 * (random.uniform() - 0.5);
      return { cluster: day + Math.floor(place / 2) / 100, probability: 0.1, baseline: 0.5, candidate };
    });
    return sumPairs(dayOf(day), pairs, 1);
  });
}

describe('a pair', () => {
  it('is scored against the ideal order of the documents in both lists', () => {
    const grades = new Map([
      ['a', 3],
      ['b', 1],
      ['c', 1],
    ]);
    const { baseline, candidate } = scorePair(['b', 'c'], ['a', 'b'], grades, 2);
    expect(candidate).toBeCloseTo(1, 12);
    // Measured only against the ideal order of its own documents, the baseline would score 1.
    expect(baseline).toBeCloseTo((1 + 1 / Math.log2(3)) / (3 + 1 / Math.log2(3)), 12);
    expect(scorePair([], ['a'], grades, 2).baseline).toBe(0);
    expect(
      scorePair(
        ['d'],
        ['e'],
        new Map([
          ['d', 0],
          ['e', 0],
        ]),
        2,
      ),
    ).toEqual({ baseline: 0, candidate: 0 });
  });

  it('has no difference for the same list, and the opposite difference when the lists are swapped', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const list = uniqueArray(integer({ min: 0, max: 5 }), { maxLength: 4 });
    assert(
      property(list, list, array(integer({ min: 0, max: 3 }), { minLength: 6, maxLength: 6 }), (one, other, given) => {
        const grades = new Map(names.map((name, place) => [name, given[place] ?? 0]));
        const [ours, theirs] = [one, other].map((list) => list.map((place) => names[place] ?? ''));
        const there = scorePair(ours ?? [], theirs ?? [], grades, 3);
        const back = scorePair(theirs ?? [], ours ?? [], grades, 3);
        expect(there).toEqual({ baseline: back.candidate, candidate: back.baseline });
        expect(Math.min(there.baseline, there.candidate)).toBeGreaterThanOrEqual(0);
        expect(Math.max(there.baseline, there.candidate)).toBeLessThanOrEqual(1);
        const same = scorePair(ours ?? [], ours ?? [], grades, 3);
        expect(same.baseline).toBe(same.candidate);
      }),
    );
  });
});

describe('days of judged live queries', () => {
  it('weight each query by its inverse probability', () => {
    const pairs = [
      { cluster: 0.1, probability: 0.5, baseline: 0.2, candidate: 0.6 },
      { cluster: 0.2, probability: 0.25, baseline: 0.5, candidate: 0.5 },
    ];
    const { baseline, candidate } = statusOfPairs([sumPairs('2026-01-01', pairs, 0)], 0.03, 1);
    expect(baseline?.value).toBeCloseTo((2 * 0.2 + 4 * 0.5) / 6, 12);
    expect(candidate?.value).toBeCloseTo((2 * 0.6 + 4 * 0.5) / 6, 12);
  });

  it('report a worse shadow as a regression, with a date that later days do not change', () => {
    const days = [
      ...daysOfPairs(-0.05, 20),
      ...daysOfPairs(0.05, 60, 8).map((one, at) => ({ ...one, day: dayOf(20 + at) })),
    ];
    const early = statusOfPairs(days.slice(0, 20), 0.03, 1);
    expect(early).toMatchObject({ verdict: 'regression', evidence: { state: 'decided' } });
    expect([totalOf(days, 'queries'), totalOf(days, 'leftOut')]).toEqual([3200, 80]);
    expect(statusOfPairs(days, 0.03, 1)).toMatchObject({ verdict: 'regression', calledOn: early.calledOn });
  });

  it('forecast how many more days are needed, and have enough evidence after twice as many similar days', () => {
    const { evidence } = statusOfPairs(daysOfPairs(0, 5), 0.008, 2);
    const days = evidence.state === 'days' ? evidence.days : 0;
    expect(days).toBeGreaterThan(0);
    expect(statusOfPairs(daysOfPairs(0, 5 + 2 * days), 0.008, 2).evidence.state).toBe('enough');
  });

  it('report no forecast while the variance is unknown', () => {
    expect(statusOfPairs([], 0.03, 1)).toMatchObject({ verdict: 'no_data', evidence: { state: 'unknown' } });
    const alike = sumPairs('2026-01-01', [{ cluster: 0.1, probability: 1, baseline: 1, candidate: 1 }], 0);
    expect(statusOfPairs([alike], 0.03, 1)).toMatchObject({
      verdict: 'no_data',
      difference: null,
      baseline: { value: 1 },
    });
  });
});

describe('two lists', () => {
  it('are equal only if they have the same documents in the same order', () => {
    expect(overlapOf(['a', 'b'], ['a', 'b'], null, 10)).toEqual({ overlap: 1, isChanged: false });
    expect(overlapOf(['a', 'b'], ['b', 'a'], null, 10)).toMatchObject({ isChanged: true });
    expect(overlapOf(['a'], ['c'], null, 10)).toEqual({ overlap: 0, isChanged: true });
    expect(overlapOf([], [], null, 10)).toEqual({ overlap: 1, isChanged: false });
  });

  it('are compared by document when chunks differ', () => {
    expect(overlapOf(['a#1', 'a#2', 'b#1'], ['a#9', 'b#4'], '#', 10)).toEqual({ overlap: 1, isChanged: false });
  });
});

describe('a share of all traffic', () => {
  it('weights each query by its inverse probability, with an interval for the effective number of sessions', () => {
    // One query with weight 30 and ten queries with weight 1.
    const sums = { n: 11, weights: 40, squares: 910 };
    const share = weightedShare(sums, 10);
    expect(share?.value).toBe(0.25);
    expect(share?.n).toBe(11);
    // The effective number of sessions, 1600 / 910, is too small to be informative.
    expect(share?.high).toBeGreaterThan(0.8);
  });

  it('is unknown without a query', () => {
    expect(weightedShare({ n: 0, weights: 0, squares: 0 }, 0)).toBeNull();
  });
});
