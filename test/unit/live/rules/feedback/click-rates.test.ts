import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ClickedQuery,
  type ClickRate,
  type ClickRateOutcome,
  clickedQueryRate,
  clickedReciprocalRank,
  clickThroughRate,
} from '../../../../../src/live/rules/feedback/click-rates.ts';
import { wilsonInterval } from '../../../../../src/stats/intervals.ts';
import { uniforms } from '../../../../support/uniforms.ts';
import { aClickedQuery } from './builders.ts';

function rateOf(outcome: ClickRateOutcome): ClickRate {
  if (outcome.kind !== 'rate') throw new Error('There were too few sessions.');
  return outcome;
}

/** Too few sessions, or bounds within 0 and 1 that enclose the rate and are no point. */
function isSound(outcome: ClickRateOutcome): boolean {
  if (outcome.kind === 'insufficient_data') return outcome.have < outcome.need;
  const { value, low, high } = outcome;
  return 0 <= low && low <= value && value <= high && high <= 1 && low < high;
}

/** Sessions of so many queries, of which every second clicks at rank 1 each time. */
function alikeSessions(queries: number, perSession: number): ClickedQuery[] {
  return Array.from({ length: queries }, (_, i) => {
    const cluster = Math.floor(i / perSession);
    return aClickedQuery({ cluster, clickedRanks: cluster % 2 === 0 ? [1] : [] });
  });
}

const three: readonly ClickedQuery[] = [
  aClickedQuery({ cluster: 's1', shown: 4, clickedRanks: [1, 4] }),
  aClickedQuery({ cluster: 's2', shown: 2, clickedRanks: [2] }),
  aClickedQuery({ cluster: 's3', shown: 4 }),
  aClickedQuery({ cluster: 's4', shown: 0 }),
];

const aQuery: fc.Arbitrary<ClickedQuery> = fc
  .record({
    cluster: fc.integer({ min: 0, max: 5 }),
    probability: fc.constantFrom(1, 0.5, 0.013),
    shown: fc.integer({ min: 0, max: 12 }),
    clickedRanks: fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
  })
  .map((query) => ({
    ...query,
    clickedRanks: query.clickedRanks.filter((rank) => rank <= query.shown).toSorted((a, b) => a - b),
  }));

describe('raw click rates', () => {
  it.each([
    ['clicks of what was shown at rank 1', () => clickThroughRate(three, 1), 1 / 3, 3],
    ['clicks of all that was shown', () => clickThroughRate(three, 10), 3 / 10, 3],
    ['clicks of what was shown down to rank 2', () => clickThroughRate(three, 2), 2 / 6, 3],
    [
      'queries with a click, one without results among those without',
      () => clickedQueryRate(three),
      1 / 2,
      4,
    ],
    ['reciprocal ranks of the best clicked documents', () => clickedReciprocalRank(three), 3 / 4, 2],
  ])('are worked out by hand: %s', (_what, measure, value, n) => {
    expect(rateOf(measure())).toMatchObject({ value, n });
  });

  it('weigh a sampled query by the queries that it stands for', () => {
    const queries = [
      aClickedQuery({ cluster: 's1', probability: 0.25, clickedRanks: [1] }),
      aClickedQuery({ cluster: 's2', probability: 1 }),
    ];
    expect(rateOf(clickThroughRate(queries, 1)).value).toBeCloseTo(4 / 5, 12);
  });

  it('have bounds that enclose them within 0 and 1, for any queries', () => {
    fc.assert(
      fc.property(fc.array(aQuery, { maxLength: 20 }), (queries) => {
        const outcomes = [
          clickThroughRate(queries, 10),
          clickThroughRate(queries, 2),
          clickedQueryRate(queries),
          clickedReciprocalRank(queries),
        ];
        expect(outcomes.map(isSound)).toEqual([true, true, true, true]);
      }),
      { numRuns: 300 },
    );
  });

  it('have nearly the Wilson interval when each of many sessions is one query', () => {
    const queries = Array.from({ length: 2000 }, (_, cluster) =>
      aClickedQuery({ cluster, clickedRanks: cluster % 4 === 0 ? [1] : [] }),
    );
    const rate = rateOf(clickThroughRate(queries, 1));
    const { low, high } = wilsonInterval(0.25, 2000, 0.95);
    expect(rate.low).toBeCloseTo(low, 4);
    expect(rate.high).toBeCloseTo(high, 4);
  });

  it('have wider bounds when the same clicks come from fewer sessions', () => {
    const widths = [1, 4].map((perSession) => {
      const { low, high } = rateOf(clickThroughRate(alikeSessions(400, perSession), 1));
      return high - low;
    });
    expect((widths[1] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(2, 1);
  });

  it('have the bounds of single queries when those of a session do not depend on each other', () => {
    // Sessions of two queries that click neither, the first, the second or both, equally often.
    const queries = Array.from({ length: 800 }, (_, i) => {
      const cluster = Math.floor(i / 2);
      const isClicked = i % 2 === 0 ? cluster % 2 === 0 : cluster % 4 < 2;
      return aClickedQuery({ cluster, clickedRanks: isClicked ? [1] : [] });
    });
    const { value, low, high } = rateOf(clickThroughRate(queries, 1));
    const wilson = wilsonInterval(0.5, 800, 0.95);
    expect(value).toBe(0.5);
    expect(low).toBeCloseTo(wilson.low, 3);
    expect(high).toBeCloseTo(wilson.high, 3);
  });

  it('say next to nothing when two sessions disagree', () => {
    const queries = [aClickedQuery({ cluster: 's1', clickedRanks: [1] }), aClickedQuery({ cluster: 's2' })];
    const { low, high } = rateOf(clickThroughRate(queries, 1));
    expect(low).toBeLessThan(0.01);
    expect(high).toBeGreaterThan(0.99);
  });

  it('claim no certainty when no session clicked', () => {
    const queries = Array.from({ length: 20 }, (_, cluster) => aClickedQuery({ cluster }));
    const { value, low, high } = rateOf(clickedQueryRate(queries));
    expect([value, low]).toEqual([0, 0]);
    expect(high).toBeGreaterThan(0.16);
  });

  it.each([15, 100])('hold the truth in about 95 % of windows of %d sessions', (sessions) => {
    const uniform = uniforms(5);
    const chances = [0.4, 0.2, 0.1];
    let covered = 0;
    const windows = 400;
    for (let window = 0; window < windows; window++) {
      const queries = Array.from({ length: sessions }, (_, cluster) => {
        // Half of the users click twice as much as usual, the others not at all.
        const mood = uniform() < 0.5 ? 2 : 0;
        return Array.from({ length: 1 + (cluster % 3) }, () =>
          aClickedQuery({
            cluster,
            shown: 3,
            clickedRanks: [1, 2, 3].filter((rank) => uniform() < mood * (chances[rank - 1] ?? 0)),
          }),
        );
      }).flat();
      const { low, high } = rateOf(clickThroughRate(queries, 1));
      if (low <= 0.4 && 0.4 <= high) covered++;
    }
    expect(covered / windows).toBeGreaterThan(0.92);
    expect(covered / windows).toBeLessThan(0.98);
  });

  it('of no queries are insufficient data and never NaN', () => {
    for (const outcome of [
      clickThroughRate([], 10),
      clickedQueryRate([]),
      clickedReciprocalRank(three.slice(2)),
    ]) {
      expect(outcome).toEqual({ kind: 'insufficient_data', of: 'sessions', have: 0, need: 2 });
    }
  });
});
