import { describe, expect, it } from 'vitest';
import {
  baselineGrade,
  buildBaseline,
  crossFitRanks,
  daysWithTraffic,
  wholeWeeks,
} from '../../../../src/density/rules/baseline.ts';
import { meanXUpper, nullMeanX, overdispersion } from '../../../../src/density/rules/baseline-spread.ts';
import { measureWindow } from '../../../../src/density/rules/measure-window.ts';
import { MAX_SURPRISE } from '../../../../src/density/rules/query-score.ts';
import { groupEqualRows, matrixOf } from '../../../../src/math/vector/matrix.ts';
import { differences, driftCases } from '../../../support/drift-conformance.ts';
import { evenQuestions, queryWorld } from '../../../support/query-world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MONDAY = new Date('2026-03-02T00:00:00Z');

const after = (days: number): Date => new Date(MONDAY.getTime() + days * DAY);

const TOPICS = [0, 1, 2, 3, 4, 5];

function builtFrom(count: number, days: number, seed = 1) {
  const world = queryWorld(seed, 6, 6);
  const asked = world.ask(evenQuestions(count, TOPICS, MONDAY, days * DAY));
  const settings = { period: { from: MONDAY, until: after(days) }, windowMs: HOUR, seed: 1 };
  const baseline = buildBaseline(asked.queries, asked.vectors, settings);
  if ('kind' in baseline) throw new Error('The baseline was not built.');
  return { world, asked, settings, baseline };
}

describe('a baseline', () => {
  const { world, asked, settings, baseline } = builtFrom(3000, 14);

  it('of 14 days and 3,000 sessions allows pages, and its own queries have a density near 1', () => {
    expect(baseline).toMatchObject({ grade: 'page', days: 14, queries: 3000 });
    expect(baseline.regions.count).toBe(10);
    expect(Math.exp(0.99 - baseline.global.meanX)).toBeCloseTo(1, 1);
    expect(baseline.global.sessions).toBe(3000);
    expect(baseline.regionShares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
  });

  it('has an upper limit of the mean surprise for the detector', () => {
    const { meanX, meanXUpper, phi, variance } = baseline.global;
    expect(meanX).toBeCloseTo(0.99, 12);
    expect(meanXUpper).toBeGreaterThan(meanX);
    expect(phi).toBeGreaterThanOrEqual(1);
    expect(variance).toBeGreaterThan(0.5);
  });

  it('has at most 2,000 reference queries with distinct vectors, half of them from each half of the baseline', () => {
    const { vectors, surprises, counts, queries } = baseline.reference;
    expect([vectors.rows, surprises.length, queries.length]).toEqual([2000, 2000, 2000]);
    expect(groupEqualRows(vectors).distinct).toHaveLength(2000);
    const [even, odd] = counts.map((half) => half.reduce((sum, count) => sum + count, 0));
    expect((even ?? 0) + (odd ?? 0)).toBe(2000);
    expect((even ?? 0) / 2000).toBeCloseTo(0.5, 1);
  });

  it('measures a density near 1 in a later window of the same traffic', () => {
    const next = world.ask(evenQuestions(1500, TOPICS, after(20), HOUR));
    const { density } = measureWindow(next.queries, next.vectors, baseline);
    expect(density?.density).toBeGreaterThan(0.93);
    expect(density?.density).toBeLessThan(1.07);
  });

  it('does not depend on the order of the queries', () => {
    expect(buildBaseline(asked.queries.toReversed(), asked.vectors, settings)).toEqual(baseline);
  });

  it('stores its worst-covered tenth for the search for topics', () => {
    expect(baseline.tail.length / 3000).toBeCloseTo(0.1, 1);
    expect(new Set(baseline.tail.map(({ session }) => session)).size).toBe(baseline.tail.length);
    for (const { surprise } of baseline.tail) expect(surprise).toBeGreaterThanOrEqual(-Math.log(0.1));
  });

  it('allows only tickets with at least 3 days and 500 sessions, and no alerts with less', () => {
    expect(builtFrom(600, 3).baseline.grade).toBe('provisional');
    expect(builtFrom(600, 2).baseline.grade).toBe('insufficient');
    expect(builtFrom(400, 14).baseline.grade).toBe('insufficient');
    expect(baselineGrade(14, 1999)).toBe('provisional');
    expect(baselineGrade(13, 9999)).toBe('provisional');
  });

  it('counts a repeated query once per session among its reference queries', () => {
    const vectors = matrixOf([
      [1, 0],
      [0, 1],
    ]);
    const queries = Array.from({ length: 1200 }, (_, i) => ({
      id: String(i).padStart(4, '0'),
      session: `s${Math.floor(i / 4)}`,
      score: i % 2,
      row: i % 2,
      occurredAt: new Date(MONDAY.getTime() + Math.floor(i / 4) * HOUR),
    }));
    const built = buildBaseline(queries, vectors, settings);
    if ('kind' in built) throw new Error('The baseline was not built.');
    const { reference } = built;
    expect(reference.vectors.rows).toBe(2);
    // Each of the 300 hours has one session, which asks both queries twice.
    expect(reference.counts.map((half) => [...half])).toEqual([
      [152, 152],
      [148, 148],
    ]);
    // Both halves contain the same queries, so each query has exactly its expected surprise.
    expect(built.meanExcess).toBeCloseTo(0, 2);
    expect(built.global.variance).toBeCloseTo(0, 3);
  });

  it('works without vectors: every query is compared with the whole baseline', () => {
    const bare = asked.queries.map((query) => ({ ...query, row: null }));
    const built = buildBaseline(bare, asked.vectors, settings);
    if ('kind' in built) throw new Error('The baseline was not built.');
    expect(built).toMatchObject({ grade: 'page', tail: [], regionShares: [] });
    expect(built.reference.vectors.rows).toBe(0);
    expect(measureWindow(bare, asked.vectors, built).queries.every(({ region }) => region === -1)).toBe(true);
  });

  it('cannot be built from one day, because its queries have no others to be compared with', () => {
    const day = world.ask(evenQuestions(100, TOPICS, MONDAY, HOUR));
    expect(buildBaseline(day.queries, day.vectors, settings)).toEqual({
      kind: 'insufficient_data',
      have: 1,
      need: 2,
    });
    expect(buildBaseline([], day.vectors, settings)).toMatchObject({ kind: 'insufficient_data', have: 0 });
  });

  it('counts a session that spans two windows once, although it has a vote in both', () => {
    const questions = evenQuestions(2000, TOPICS, MONDAY, 14 * DAY).map((question, i) => ({
      ...question,
      session: `s${Math.floor(i / 2)}`,
    }));
    const pairs = queryWorld(3, 6, 6).ask(questions);
    const built = buildBaseline(pairs.queries, pairs.vectors, settings);
    expect(built).toMatchObject({ grade: 'provisional' });
    expect('kind' in built ? 0 : built.global.sessions).toBeGreaterThan(1000);
  });
});

describe('the period of a baseline', () => {
  it('is shortened to the latest whole weeks if it has at least two weeks', () => {
    expect(wholeWeeks({ from: MONDAY, until: after(17.3) }).from).toEqual(after(3.3));
    expect(wholeWeeks({ from: MONDAY, until: after(14) }).from).toEqual(MONDAY);
    expect(wholeWeeks({ from: MONDAY, until: after(13.9) }).from).toEqual(MONDAY);
    const { world, settings } = builtFrom(700, 14);
    const { queries, vectors } = world.ask(evenQuestions(850, TOPICS, MONDAY, 17 * DAY));
    const built = buildBaseline(queries, vectors, {
      ...settings,
      period: { from: MONDAY, until: after(17) },
    });
    expect(built).toMatchObject({ queries: 700, days: 14, period: { from: after(3), until: after(17) } });
  });

  it('includes all days from the first to the last day with traffic, even days without', () => {
    const period = { from: MONDAY, until: after(14) };
    expect(daysWithTraffic(period, [after(0.5), after(13.5)])).toBe(14);
    expect(daysWithTraffic(period, [after(5), after(5.5), after(6.5)])).toBe(2);
    expect(daysWithTraffic(period, [])).toBe(0);
  });
});

describe('crossFitRanks', () => {
  it('compares odd blocks of eight hours with even blocks, and vice versa', () => {
    const at = (hour: number, score: number) => ({ score, region: 0, occurredAt: after(hour / 24) });
    const queries = [at(0, 0.1), at(7.9, 0.9), at(8, 0.5), at(16, 0.6)];
    const ranks = crossFitRanks(queries, 1) ?? [];
    expect(ranks.map(({ first, last, of }) => [first / of, last / of])).toEqual([
      [1 / 2, 1 / 2],
      [1, 1],
      [2 / 4, 2 / 4],
      [1, 1],
    ]);
  });

  it('compares each hour of the day with the same hour of the day before and after', () => {
    const at = (hour: number, score: number) => ({ score, region: 0, occurredAt: after(hour / 24) });
    const [night] = crossFitRanks([at(3, 0.5), at(27, 0.6), at(15, 0.1), at(39, 0.2)], 1) ?? [];
    // The first score is compared with 0.2 and 0.6, which are in blocks of the other parity, but not with 0.1.
    expect(night).toEqual({ first: 2, last: 2, of: 3 });
  });

  it('is empty if all queries are in blocks of one parity', () => {
    expect(crossFitRanks([{ score: 1, region: 0, occurredAt: MONDAY }], 1)).toBeNull();
  });
});

/** Reference values from numpy, scipy and scikit-learn; each file names its formula and its tool. */
describe('overdispersion', () => {
  interface Input {
    readonly window_counts: readonly number[];
    readonly window_means: readonly number[];
    readonly pooled_mean: number;
    readonly pooled_var: number;
    readonly density_floor: number;
    readonly z: number;
  }
  interface Expected {
    readonly phi: number;
    readonly mean_x_upper: number;
    readonly m0: number;
  }

  it.each(driftCases<Input, Expected>('overdispersion'))('$name', ({ input, expected }) => {
    const pooled = { mean: input.pooled_mean, variance: input.pooled_var };
    const windows = input.window_counts.map((sessions, i) => ({
      sessions,
      meanX: input.window_means[i] ?? 0,
    }));
    const phi = overdispersion(windows, pooled);
    const sessions = input.window_counts.reduce((sum, count) => sum + count, 0);
    const upper = meanXUpper(pooled, phi, sessions, input.z);
    expect(
      differences(
        [phi, upper, nullMeanX(upper, input.density_floor) / MAX_SURPRISE],
        [expected.phi, expected.mean_x_upper, expected.m0],
      ),
    ).toEqual([]);
  });
});
