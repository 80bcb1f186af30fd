import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CLICK_ATTRIBUTION_MS,
  type Click,
  type ClickedQuery,
  type ClickRateOutcome,
  clickedQueries,
  clickedQueryRate,
  clickedReciprocalRank,
  clicksCompleteUntil,
  clickThroughRate,
  type RatioTerm,
  type SessionRatio,
  type ShownQuery,
  sessionRatio,
} from '../../../../../src/live/rules/feedback/click-rates.ts';
import { wilsonInterval } from '../../../../../src/math/stats/intervals.ts';
import { uniforms } from '../../../../support/uniforms.ts';
import { aClickedQuery, minutesAfterNoon, NOON } from './builders.ts';

const query: ShownQuery = {
  id: 'q1',
  occurredAt: NOON,
  documentIds: ['d1', 'd2', 'd3'],
  cluster: 's1',
  probability: 0.1,
};

function aClick(parts: Partial<Click>): Click {
  return { queryId: 'q1', documentId: null, rank: null, occurredAt: minutesAfterNoon(1), ...parts };
}

function ranksOf(...clicks: readonly Click[]): readonly number[] | undefined {
  return clickedQueries([query], clicks).queries[0]?.clickedRanks;
}

describe('the clicked ranks of a query', () => {
  it('are those of the clicked documents, ascending, each once', () => {
    expect(ranksOf(aClick({ documentId: 'd3' }), aClick({ documentId: 'd1' }), aClick({ documentId: 'd3' }))).toEqual([
      1, 3,
    ]);
  });

  it('are the ranks at which documents were shown, not those of the click', () => {
    expect(ranksOf(aClick({ documentId: 'd2', rank: 1 }))).toEqual([2]);
  });

  it('are taken from a click that has no document id', () => {
    expect(ranksOf(aClick({ rank: 2 }))).toEqual([2]);
  });

  it('use the first rank of a document that was shown twice', () => {
    const twice = { ...query, documentIds: ['d1', 'd2', 'd2'] };
    expect(clickedQueries([twice], [aClick({ documentId: 'd2' })]).queries[0]?.clickedRanks).toEqual([2]);
  });

  it.each([
    ['a document that was not shown', aClick({ documentId: 'd9', rank: 1 }), 'notShown'],
    ['a rank that was not shown', aClick({ rank: 4 }), 'notShown'],
    ['neither document nor rank', aClick({}), 'notShown'],
    ['a query that was not sampled', aClick({ queryId: 'q9', rank: 1 }), null],
    ['a query from long before', aClick({ rank: 1, occurredAt: minutesAfterNoon(31) }), 'late'],
  ] as const)(
    'exclude a click on %s, and count late clicks and clicks on documents that were not shown',
    (_what, click, reason) => {
      const { queries, leftOut } = clickedQueries([query], [click]);
      expect(queries).toEqual([{ cluster: 's1', probability: 0.1, shown: 3, clickedRanks: [] }]);
      expect(leftOut).toEqual({ notShown: 0, late: 0, ...(reason === null ? {} : { [reason]: 1 }) });
    },
  );

  it('include a click at the very end of the attribution time, and one that a slow clock dates before the query', () => {
    expect(ranksOf(aClick({ rank: 1, occurredAt: minutesAfterNoon(30) }))).toEqual([1]);
    expect(ranksOf(aClick({ rank: 1, occurredAt: minutesAfterNoon(-1) }))).toEqual([1]);
  });

  it('are empty for a query without results', () => {
    const empty = { ...query, documentIds: [] };
    expect(clickedQueries([empty], [aClick({ rank: 1 })]).queries).toEqual([
      { cluster: 's1', probability: 0.1, shown: 0, clickedRanks: [] },
    ]);
  });
});

it('considers clicks complete for queries that are older than the attribution time', () => {
  const last = clicksCompleteUntil(NOON);
  expect(NOON.getTime() - last.getTime()).toBe(CLICK_ATTRIBUTION_MS);
});

function rateOf(outcome: ClickRateOutcome): Extract<ClickRateOutcome, { kind: 'rate' }> {
  if (outcome.kind !== 'rate') throw new Error('There were too few sessions.');
  return outcome;
}

/**
 * Returns true if the outcome reports too few sessions, or if its bounds lie between 0 and 1, contain the rate, and
 * have a positive width.
 */
function isSound(outcome: ClickRateOutcome): boolean {
  if (outcome.kind === 'insufficient_data') return outcome.have < outcome.need;
  const { value, low, high } = outcome;
  return 0 <= low && low <= value && value <= high && high <= 1 && low < high;
}

/** Returns sessions of `perSession` queries; in every second session, each query has a click at rank 1. */
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
    ['clicks on documents shown at rank 1', () => clickThroughRate(three, 1), 1 / 3, 3],
    ['clicks on all shown documents', () => clickThroughRate(three, 10), 3 / 10, 3],
    ['clicks on documents shown down to rank 2', () => clickThroughRate(three, 2), 2 / 6, 3],
    [
      'queries with a click, where a query without results counts as one without a click',
      () => clickedQueryRate(three),
      1 / 2,
      4,
    ],
    ['reciprocal ranks of the best clicked documents', () => clickedReciprocalRank(three), 3 / 4, 2],
  ])('equal hand-computed values: %s', (_what, measure, value, n) => {
    expect(rateOf(measure())).toMatchObject({ value, n });
  });

  it('weight a sampled query by the number of queries that it represents', () => {
    const queries = [
      aClickedQuery({ cluster: 's1', probability: 0.25, clickedRanks: [1] }),
      aClickedQuery({ cluster: 's2', probability: 1 }),
    ];
    expect(rateOf(clickThroughRate(queries, 1)).value).toBeCloseTo(4 / 5, 12);
  });

  it('lie within their confidence intervals, which lie within 0 and 1', () => {
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

  it('have nearly the Wilson interval when each session has one query', () => {
    const queries = Array.from({ length: 2000 }, (_, cluster) =>
      aClickedQuery({ cluster, clickedRanks: cluster % 4 === 0 ? [1] : [] }),
    );
    const rate = rateOf(clickThroughRate(queries, 1));
    const { low, high } = wilsonInterval(0.25, 2000, 0.95);
    expect(rate.low).toBeCloseTo(low, 4);
    expect(rate.high).toBeCloseTo(high, 4);
  });

  it('have a wider interval if the same clicks come from fewer sessions', () => {
    const widths = [1, 4].map((perSession) => {
      const { low, high } = rateOf(clickThroughRate(alikeSessions(400, perSession), 1));
      return high - low;
    });
    expect((widths[1] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(2, 1);
  });

  it('have the interval of separate queries if the queries of a session are independent', () => {
    // Sessions of two queries with clicks on neither, the first, the second or both, equally often.
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

  it('have a very wide interval if two sessions disagree', () => {
    const queries = [aClickedQuery({ cluster: 's1', clickedRanks: [1] }), aClickedQuery({ cluster: 's2' })];
    const { low, high } = rateOf(clickThroughRate(queries, 1));
    expect(low).toBeLessThan(0.01);
    expect(high).toBeGreaterThan(0.99);
  });

  it('do not claim certainty if no session has a click', () => {
    const queries = Array.from({ length: 20 }, (_, cluster) => aClickedQuery({ cluster }));
    const { value, low, high } = rateOf(clickedQueryRate(queries));
    expect([value, low]).toEqual([0, 0]);
    expect(high).toBeGreaterThan(0.16);
  });

  it.each([15, 100])(
    'have an interval that contains the true rate in about 95 % of windows of %d sessions',
    (sessions) => {
      const uniform = uniforms(5);
      const chances = [0.4, 0.2, 0.1];
      let covered = 0;
      const windows = 400;
      for (let window = 0; window < windows; window++) {
        const queries = Array.from({ length: sessions }, (_, cluster) => {
          // Half of the users click twice as often as usual, and the other half never click.
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
      expect(covered / windows).toBeLessThan(0.99);
    },
  );

  it('are insufficient data without queries, never NaN', () => {
    for (const outcome of [clickThroughRate([], 10), clickedQueryRate([]), clickedReciprocalRank(three.slice(2))]) {
      expect(outcome).toEqual({ kind: 'insufficient_data', of: 'sessions', have: 0, need: 2 });
    }
  });
});

function ratioOf(terms: readonly RatioTerm[]): SessionRatio {
  const ratio = sessionRatio(terms);
  if (ratio.kind !== 'ratio') throw new Error('There were too few sessions.');
  return ratio;
}

/** Returns sessions of 1 to 5 correlated queries. */
function sessions(count: number, seed: number): RatioTerm[] {
  const uniform = uniforms(seed);
  return Array.from({ length: count }, (_, cluster) => cluster).flatMap((cluster) => {
    const mood = uniform();
    const probability = uniform() < 0.3 ? 1 : 0.25;
    return Array.from({ length: 1 + Math.floor(uniform() * 5) }, () => {
      const denominator = 0.2 + uniform();
      return { cluster, probability, numerator: mood * denominator + uniform(), denominator };
    });
  });
}

describe('a ratio over sessions', () => {
  it('equals the hand-computed value for two sessions', () => {
    // The sums are 2 + 2/0.5 = 6 and 4 + 4/0.5 = 12, so the ratio is 1/2.
    // The residuals of s1 sum to 0: (1 - 0.5 * 3) + (1 - 0.5) = 0. The residual of s2 is (2 - 0.5 * 4)/0.5 = 0.
    const even = [
      { cluster: 's1', probability: 1, numerator: 1, denominator: 3 },
      { cluster: 's1', probability: 1, numerator: 1, denominator: 1 },
      { cluster: 's2', probability: 0.5, numerator: 2, denominator: 4 },
    ];
    expect(ratioOf(even)).toMatchObject({
      value: 0.5,
      numerator: 6,
      denominator: 12,
      variance: 0,
      n: 3,
      sessions: 2,
    });
    // The ratio is 2/4, and the residuals are 1 - 0.5 and 1 - 1.5, so the variance is 2/(2 - 1) (0.25 + 0.25) / 4^2.
    const uneven = [
      { cluster: 's1', probability: 1, numerator: 1, denominator: 1 },
      { cluster: 's2', probability: 1, numerator: 1, denominator: 3 },
    ];
    expect(ratioOf(uneven)).toMatchObject({ value: 0.5, variance: 1 / 16, effectiveSessions: 2 });
  });

  it('has the jackknife variance over sessions', () => {
    const terms = sessions(300, 1);
    const names = [...new Set(terms.map(({ cluster }) => cluster))];
    const values = names.map((name) => ratioOf(terms.filter(({ cluster }) => cluster !== name)).value);
    const centre = values.reduce((sum, value) => sum + value, 0) / names.length;
    const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
    const jackknife = ((names.length - 1) / names.length) * squares;
    expect(ratioOf(terms).variance / jackknife).toBeCloseTo(1, 1);
  });

  it('is the same when all probabilities are halved', () => {
    const terms = sessions(20, 2);
    const halved = terms.map((term) => ({ ...term, probability: term.probability / 2 }));
    expect(ratioOf(halved).value).toBeCloseTo(ratioOf(terms).value, 12);
    expect(ratioOf(halved).variance).toBeCloseTo(ratioOf(terms).variance, 12);
  });

  it('ignores queries without results', () => {
    const terms = sessions(20, 3);
    const empty = { cluster: 'empty', probability: 1, numerator: 0, denominator: 0 };
    expect(ratioOf([...terms, empty])).toEqual(ratioOf(terms));
  });

  it('is insufficient data with fewer than two sessions, never NaN', () => {
    const one = { cluster: 's1', probability: 1, numerator: 1, denominator: 1 };
    const outcome = { kind: 'insufficient_data', of: 'sessions', need: 2 };
    expect(sessionRatio([])).toEqual({ ...outcome, have: 0 });
    expect(sessionRatio([one, one])).toEqual({ ...outcome, have: 1 });
  });

  it('rejects invalid probabilities, and those so small that weights overflow', () => {
    fc.assert(
      fc.property(fc.constantFrom(0, -0.1, 1.1, Number.NaN, 1e-160, 1e-320), (probability) => {
        const terms = ['s1', 's2'].map((cluster) => ({ cluster, probability, numerator: 1, denominator: 2 }));
        expect(() => sessionRatio(terms)).toThrow(RangeError);
      }),
    );
  });
});
