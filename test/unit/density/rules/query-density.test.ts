import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { regionTable } from '../../../../src/density/rules/baseline-spread.ts';
import {
  classifyCoverage,
  DENSITY_THRESHOLD,
  densityInterval,
  queryDensity,
} from '../../../../src/density/rules/query-density.ts';
import {
  baselineScores,
  surpriseOf,
  surprisesOf,
  type TiedRanks,
  tailShare,
  tiedRanks,
} from '../../../../src/density/rules/query-score.ts';
import { sessionWeights } from '../../../../src/density/rules/sessions.ts';
import { differences, driftCases } from '../../../support/drift-conformance.ts';
import { uniforms } from '../../../support/uniforms.ts';

/** Ranks scores among baseline scores; the region of each score is its index modulo `regionCount`. */
function classify(
  scores: readonly number[],
  reference: readonly number[],
  { regionCount = 0, sessions = scores.map((_, i) => i), alpha = 0.05 } = {},
): ReturnType<typeof classifyCoverage> {
  const regionsOf = (values: readonly number[]) => values.map((_, i) => (regionCount === 0 ? -1 : i % regionCount));
  const baseline = baselineScores(reference, regionsOf(reference), regionCount);
  const regions = regionsOf(scores);
  const ranks = scores.map((score, i) => tiedRanks(score, regions[i] ?? -1, baseline));
  const window = queryDensity(ranks, surprisesOf(ranks), regions, sessions);
  if (window === null) throw new Error('no scores');
  return classifyCoverage(window, baseline, alpha);
}

const drawn = (count: number, uniform: () => number): number[] => Array.from({ length: count }, () => uniform());

describe('the verdict on coverage', () => {
  it.each([
    ['one list of 100 reference queries', 100, 0],
    ['400 reference queries in 4 regions', 400, 4],
  ])('excludes a density of 1 in at most a share alpha of unchanged windows, with %s', (_what, size, regionCount) => {
    const uniform = uniforms(11);
    const windows = 800;
    let below = 0;
    for (let i = 0; i < windows; i++) {
      const { densityUpperLimit } = classify(drawn(150, uniform), drawn(size, uniform), {
        regionCount,
        alpha: 0.1,
      });
      if (densityUpperLimit < 1) below++;
    }
    // At most a tenth of the windows may be below 1; the limit adds three standard deviations.
    expect(below / windows).toBeLessThan(0.1 + 3 * Math.sqrt(0.09 / windows));
    expect(below / windows).toBeGreaterThan(0.03);
  });

  it('is worse_covered if a fifth of the queries scores below all reference queries', () => {
    const uniform = uniforms(3);
    const scores = drawn(400, uniform).map((score, i) => (i % 5 === 0 ? score - 2 : score));
    const { verdict, densityUpperLimit } = classify(scores, drawn(1000, uniform));
    expect(verdict).toBe('worse_covered');
    expect(densityUpperLimit).toBeLessThan(DENSITY_THRESHOLD);
  });

  it('is not_worse for a window like the reference, and for a better one', () => {
    const uniform = uniforms(5);
    const reference = drawn(1000, uniform);
    expect(classify(reference, reference).verdict).toBe('not_worse');
    expect(
      classify(
        reference.map((score) => score + 1),
        reference,
      ).verdict,
    ).toBe('not_worse');
  });

  it('does not report a tiny change as worse, however many queries show it', () => {
    const uniform = uniforms(7);
    const scores = drawn(50_000, uniform).map((score, i) => (i % 100 === 0 ? score - 2 : score));
    const { verdict, densityUpperLimit } = classify(scores, drawn(50_000, uniform));
    expect(densityUpperLimit).toBeLessThan(1);
    expect(verdict).toBe('not_worse');
  });

  it('is less certain for many queries from few sessions, and for a small alpha', () => {
    const uniform = uniforms(9);
    const reference = drawn(500, uniform);
    const scores = drawn(300, uniform).map((score) => score / 2);
    const plain = classify(scores, reference).densityUpperLimit;
    const sessions = scores.map((_, i) => i % 10);
    expect(classify(scores, reference, { sessions }).densityUpperLimit).toBeGreaterThan(plain);
    expect(classify(scores, reference, { alpha: 0.001 }).densityUpperLimit).toBeGreaterThan(plain);
    expect(classify(scores, reference, { alpha: 0.5 }).densityUpperLimit).toBeLessThan(plain);
  });

  it('uses the whole reference for regions with fewer than 50 queries', () => {
    const uniform = uniforms(13);
    const reference = drawn(98, uniform);
    const scores = drawn(60, uniform);
    expect(classify(scores, reference, { regionCount: 2 })).toEqual(classify(scores, reference));
  });
});

interface Drawn {
  readonly baseline: readonly number[];
  readonly baselineRegions: readonly number[];
  readonly scores: readonly number[];
  readonly regions: readonly number[];
  readonly sessions: readonly number[];
}

function draw(seed: number, count = 80): Drawn {
  const uniform = uniforms(seed);
  const numbers = (n: number, most: number): number[] => Array.from({ length: n }, () => Math.floor(uniform() * most));
  return {
    baseline: numbers(300, 1000).map((n) => n / 1000),
    baselineRegions: numbers(300, 3),
    scores: numbers(count, 1000).map((n) => n / 1000),
    regions: numbers(count, 3),
    sessions: numbers(count, count / 2),
  };
}

function densityOfDrawn({ baseline, baselineRegions, scores, regions, sessions }: Drawn) {
  const lists = baselineScores(baseline, baselineRegions, 3);
  const ranks = scores.map((score, i) => tiedRanks(score, regions[i] ?? -1, lists));
  return queryDensity(ranks, surprisesOf(ranks), regions, sessions);
}

const EXACT_BASELINE = Number.POSITIVE_INFINITY;
const seeds = fc.integer({ min: 0, max: 1e6 });

describe('query density', () => {
  it('is near 1 if the window is the baseline', () => {
    const { baseline, baselineRegions } = draw(1);
    const same = densityOfDrawn({
      ...draw(1),
      scores: baseline,
      regions: baselineRegions,
      sessions: baseline.map((_, i) => i),
    });
    // A query that is itself part of the baseline ranks slightly higher than a new query would.
    expect(same?.density).toBeGreaterThan(0.97);
    expect(same?.density).toBeLessThan(1.08);
    expect(same?.uncovered.share).toBeCloseTo(0.05, 1);
  });

  it('does not change under any increasing transform of the scores', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const drawn = draw(seed);
        const transform = (score: number): number => Math.exp(3 * score) - 17;
        const transformed = {
          ...drawn,
          baseline: drawn.baseline.map(transform),
          scores: drawn.scores.map(transform),
        };
        expect(densityOfDrawn(transformed)).toEqual(densityOfDrawn(drawn));
      }),
      { numRuns: 30 },
    );
  });

  it('does not depend on the order of the queries', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const drawn = draw(seed);
        const reversed = {
          ...drawn,
          baseline: drawn.baseline.toReversed(),
          baselineRegions: drawn.baselineRegions.toReversed(),
          scores: drawn.scores.toReversed(),
          regions: drawn.regions.toReversed(),
          sessions: drawn.sessions.toReversed(),
        };
        expect(densityOfDrawn(reversed)?.density).toBeCloseTo(densityOfDrawn(drawn)?.density ?? 0, 12);
      }),
      { numRuns: 30 },
    );
  });

  it('never rises if a query is covered worse, and stays within its range', () => {
    fc.assert(
      fc.property(seeds, fc.nat(79), fc.double({ min: 0, max: 1, noNaN: true }), (seed, which, loss) => {
        const drawn = draw(seed);
        const worse = {
          ...drawn,
          scores: drawn.scores.map((score, i) => (i === which ? score - loss : score)),
        };
        const [before, after] = [densityOfDrawn(drawn), densityOfDrawn(worse)];
        expect(after?.density).toBeLessThanOrEqual((before?.density ?? 0) + 1e-12);
        expect(after?.density).toBeGreaterThan(0.0269);
        expect(before?.density).toBeLessThan(2.6913);
        expect(after?.uncovered.excessLow).toBeLessThanOrEqual(after?.uncovered.excess ?? -1);
        expect(after?.uncovered.excessHigh).toBeGreaterThanOrEqual(after?.uncovered.excess ?? 2);
      }),
      { numRuns: 50 },
    );
  });

  it('gives each session one vote, however often it repeats a query', () => {
    const { weights, sessions } = sessionWeights([7, 1, 7, 7, 2, 7]);
    expect([...weights]).toEqual([0.25, 1, 0.25, 0.25, 1, 0.25]);
    expect(sessions).toBe(3);
    const people = draw(2);
    const withBot = (copies: number) => ({
      ...people,
      scores: [...people.scores, ...Array.from({ length: copies }, () => 0)],
      regions: [...people.regions, ...Array.from({ length: copies }, () => 0)],
      sessions: [...people.sessions, ...Array.from({ length: copies }, () => 9999)],
    });
    expect(densityOfDrawn(withBot(5000))?.density).toBeCloseTo(densityOfDrawn(withBot(1))?.density ?? 0, 9);
  });

  it('drops to about 0.965 if 1 % of queries are gibberish', () => {
    const baseline = Array.from({ length: 5000 }, (_, i) => i / 5000);
    const lists = baselineScores(baseline, new Int32Array(5000), 1);
    const densityWith = (gibberish: number): number => {
      const scores = baseline.map((score, i) => (i % 100 < gibberish ? -1 : score));
      const ranks = scores.map((score) => tiedRanks(score, 0, lists));
      const sessions = scores.map((_, i) => i);
      return queryDensity(ranks, surprisesOf(ranks), new Int32Array(5000), sessions)?.density ?? 0;
    };
    expect(densityWith(0)).toBeCloseTo(1, 2);
    expect(densityWith(1)).toBeCloseTo(0.965, 2);
  });

  it('is null without queries', () => {
    expect(queryDensity([], new Float64Array(0), [], [])).toBeNull();
  });

  it('has an interval that narrows as the number of sessions grows', () => {
    const reaches = [200, 1000, 5000].map((sessions) =>
      Math.log(densityInterval(1, 0.9, sessions, EXACT_BASELINE).high),
    );
    for (const [i, expected] of [0.13, 0.06, 0.026].entries()) expect(reaches[i]).toBeCloseTo(expected, 2);
    const { low, high } = densityInterval(0.8, 3.6, 300, EXACT_BASELINE);
    expect(high / 0.8).toBeCloseTo(0.8 / low, 12);
    expect(Math.log(high / 0.8)).toBeCloseTo(2 * Math.log(densityInterval(1, 0.9, 300, EXACT_BASELINE).high), 12);
  });
});

describe('the confidence interval of a density', () => {
  it.each([
    [4000, 400],
    [2000, 2000],
    [1000, 2500],
  ])(
    'contains the true density in 95 % of windows, with a baseline of %i sessions and a window of %i',
    (size, sessions) => {
      const uniform = uniforms(31);
      const numbers = Int32Array.from({ length: sessions }, (_, i) => i);
      const draws = 300;
      let containing = 0;
      for (let i = 0; i < draws; i++) {
        const lists = baselineScores(drawn(size, uniform), new Int32Array(size), 0);
        const ranks = drawn(sessions, uniform).map((score) => tiedRanks(score, -1, lists));
        const window = queryDensity(ranks, surprisesOf(ranks), numbers, numbers);
        const { low, high } = densityInterval(window?.density ?? 0, 0.9, sessions, size);
        if (low <= 1 && high >= 1) containing++;
      }
      expect(containing / draws).toBeGreaterThanOrEqual(0.93);
    },
  );
});

describe('tied ranks', () => {
  const uniformScores = (count: number): number[] => Array.from({ length: count }, (_, i) => i / count);

  it('are computed in the region if it has at least 50 baseline queries, otherwise in the whole baseline', () => {
    for (const [size, of] of [
      [49, 49 + 100 + 1],
      [50, 51],
    ] as const) {
      const scores = [...uniformScores(size).map((score) => score + 5), ...uniformScores(100).map((s) => s + 9)];
      const regions = scores.map((_, i) => (i < size ? 0 : 1));
      expect(tiedRanks(4, 0, baselineScores(scores, regions, 2))).toEqual({ first: 1, last: 1, of });
    }
  });

  it('are computed in the whole baseline for a query without a region, or with one that the baseline lacks', () => {
    const lists = baselineScores(uniformScores(99), new Int32Array(99), 1);
    expect(tiedRanks(0.5, -1, lists)).toEqual(tiedRanks(0.5, 0, lists));
    expect(tiedRanks(0.5, 7, lists)).toEqual(tiedRanks(0.5, 0, lists));
  });

  it('count a score without a region only in the whole baseline', () => {
    const lists = baselineScores([0.1, 0.2, 0.3], [0, -1, 0], 1);
    expect([...lists.all]).toEqual([0.1, 0.2, 0.3]);
    expect(lists.regions.map((scores) => [...scores])).toEqual([[0.1, 0.3]]);
  });

  it('include all ranks shared by equal scores, and average their surprise', () => {
    const lists = baselineScores([0.2, 0.5, 0.5, 0.9], new Int32Array(4), 1);
    const ranks = tiedRanks(0.5, -1, lists);
    expect(ranks).toEqual({ first: 2, last: 4, of: 5 });
    expect(surpriseOf(ranks)).toBeCloseTo(-(Math.log(2 / 5) + Math.log(3 / 5) + Math.log(4 / 5)) / 3, 12);
    expect([0.39, 0.4, 0.6, 0.9].map((a) => tailShare(ranks, a))).toEqual([0, 1 / 3, 2 / 3, 1]);
  });

  it('make repeated queries neither better nor worse covered than the baseline', () => {
    const uniform = uniforms(21);
    const asked = Array.from({ length: 4000 }, () => Math.floor(40 * uniform() ** 3) / 40);
    const lists = baselineScores(asked, new Int32Array(4000), 1);
    const x = asked.map((score) => surpriseOf(tiedRanks(score, -1, lists)));
    expect(x.reduce((sum, one) => sum + one, 0) / x.length).toBeCloseTo(0.99, 2);
  });

  it('lie among the baseline ranks, with a surprise in [0, ln 100]', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1, max: 1, noNaN: true })),
        fc.double({ min: -1, max: 1, noNaN: true }),
        (scores, score) => {
          const ranks = tiedRanks(score, -1, baselineScores(scores, new Int32Array(scores.length), 1));
          expect(1 <= ranks.first && ranks.first <= ranks.last && ranks.last <= ranks.of).toBe(true);
          expect(surpriseOf(ranks)).toBeGreaterThanOrEqual(0);
          expect(surpriseOf(ranks)).toBeLessThanOrEqual(Math.log(100));
        },
      ),
    );
    const best: TiedRanks = { first: 1, last: 1, of: 1 };
    expect(Object.is(surpriseOf(best), 0)).toBe(true);
  });
});

/** Compares with reference values from numpy; the fixture file states the formula. */
describe('query density and its parts', () => {
  interface Input {
    readonly baseline_scores: readonly number[];
    readonly baseline_regions: readonly number[];
    readonly scores: readonly number[];
    readonly regions: readonly number[];
    readonly sessions: readonly number[];
    readonly regions_total: number;
    readonly min_region_baseline: number;
  }
  interface Uncovered {
    readonly share: number;
    readonly wilson95: readonly [number, number];
    readonly excess_traffic: number;
    readonly excess_traffic_lower: number;
  }
  interface Expected extends Readonly<Record<'u_low' | 'u_high' | 'x' | 'tail_0.05' | 'tail_0.1', readonly number[]>> {
    readonly sessions: number;
    readonly mean_x: number;
    readonly query_density: number;
    readonly 'uncovered_0.05': Uncovered;
    readonly by_region: readonly { readonly region: number; readonly share: number; readonly query_density: number }[];
  }

  it.each(driftCases<Input, Expected>('query_density'))('equal the reference values: $name', ({ input, expected }) => {
    const { scores, regions, sessions } = input;
    const lists = baselineScores(input.baseline_scores, input.baseline_regions, input.regions_total);
    const ranks = scores.map((score, i) => tiedRanks(score, regions[i] ?? -1, lists, input.min_region_baseline));
    const x = surprisesOf(ranks);
    const tails = (threshold: number) => ranks.map((rank) => tailShare(rank, threshold));
    expect([
      ...differences(
        ranks.map(({ first, of }) => first / of),
        expected.u_low,
      ),
      ...differences(
        ranks.map(({ last, of }) => last / of),
        expected.u_high,
      ),
      ...differences(x, expected.x),
      ...differences(tails(0.05), expected['tail_0.05']),
      ...differences(tails(0.1), expected['tail_0.1']),
    ]).toEqual([]);
    const window = queryDensity(ranks, x, regions, sessions);
    if (window === null) throw new Error('every case has queries');
    const { share, wilson95, excess_traffic, excess_traffic_lower } = expected['uncovered_0.05'];
    const { uncovered } = window;
    expect(window.sessions).toBe(expected.sessions);
    expect(
      differences(
        [
          window.meanX,
          window.density,
          uncovered.share,
          uncovered.ciLow,
          uncovered.ciHigh,
          uncovered.excess,
          uncovered.excessLow,
          ...window.regions.flatMap((one) => [one.region, one.share, one.density]),
        ],
        [
          expected.mean_x,
          expected.query_density,
          share,
          ...wilson95,
          excess_traffic,
          excess_traffic_lower,
          ...expected.by_region.flatMap((one) => [one.region, one.share, one.query_density]),
        ],
      ),
    ).toEqual([]);
  });
});

describe('regionTable', () => {
  it('lists the region that explains most of the drop first, and the explained parts sum to the whole drop', () => {
    const density = densityOfDrawn(draw(3));
    const table = regionTable(density?.regions ?? [], [0.4, 0.3, 0.3]);
    const explained = table.map((row) => row.explained);
    expect(explained).toEqual(explained.toSorted((a, b) => b - a));
    expect(explained.reduce((sum, part) => sum + part, 0)).toBeCloseTo(-Math.log(density?.density ?? 0), 10);
  });

  it('shows a region that no longer has queries', () => {
    expect(regionTable([], [1])).toEqual([{ region: 0, share: 0, baselineShare: 1, density: null, explained: 0 }]);
  });
});
