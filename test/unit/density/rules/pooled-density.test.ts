import { describe, expect, it } from 'vitest';
import {
  type CoverageTotals,
  coverageTotals,
  pooledCoverage,
  pooledDensity,
  type WindowTotals,
  windowTotals,
} from '../../../../src/density/rules/pooled-density.ts';
import { queryDensity } from '../../../../src/density/rules/query-density.ts';
import { BASELINE_MEAN_X, surpriseOf } from '../../../../src/density/rules/query-score.ts';
import { sessionMeans } from '../../../../src/density/rules/sessions.ts';

function hours(totals: readonly (CoverageTotals | null)[]) {
  return totals.map((own, i) => ({ startMs: i * HOUR, endMs: (i + 1) * HOUR, totals: own }));
}

const totals = (sessions: number, meanX = 0.99, uncovered = 0.05): CoverageTotals => ({
  sessions,
  queries: 2 * sessions,
  sumX: sessions * meanX,
  sumXSquared: sessions * (0.9 + meanX ** 2),
  sumUncovered: sessions * uncovered,
});

const SPREAD = { variance: 0.9, phi: 1, sessions: 2000 };

describe('coverage over windows', () => {
  it('is that of the latest window if it has 200 sessions', () => {
    const pooled = pooledCoverage(hours([totals(500, 3), totals(200, 0.99)]), SPREAD);
    expect(pooled).toMatchObject({ kind: 'coverage', sessions: 200, startMs: HOUR, density: 1 });
  });

  it('uses as many windows as needed, and no more', () => {
    const pooled = pooledCoverage(hours([totals(500, 3), totals(150, 0.99), totals(50, 1.99, 0.25)]), SPREAD);
    expect(pooled).toMatchObject({ sessions: 200, queries: 400, startMs: HOUR, endMs: 3 * HOUR });
    if (pooled.kind !== 'coverage') throw new Error('there are sessions enough');
    expect(pooled.density).toBeCloseTo(Math.exp(-0.25), 12);
    expect(pooled.uncovered.share).toBeCloseTo(0.1, 12);
    expect(pooled.low).toBeLessThan(pooled.density);
  });

  it('has a wider interval if some sessions are badly covered than if all are slightly worse', () => {
    const alike = { ...totals(500, 1.5), sumXSquared: 500 * (0.9 + 1.5 ** 2) };
    const split = { ...totals(500, 1.5), sumXSquared: 500 * (2.5 + 1.5 ** 2) };
    const [narrow, wide] = [alike, split].map((own) => pooledCoverage(hours([own]), SPREAD));
    if (narrow?.kind !== 'coverage' || wide?.kind !== 'coverage') throw new Error('there are sessions enough');
    expect(Math.log(wide.high / wide.density) / Math.log(narrow.high / narrow.density)).toBeCloseTo(
      Math.sqrt(2.5 / 0.9),
      12,
    );
  });

  it('uses at most a day of windows, and states how many sessions it has and needs', () => {
    const sparse = Array.from({ length: 48 }, () => totals(5));
    expect(pooledCoverage(hours(sparse), SPREAD)).toEqual({
      kind: 'insufficient_data',
      have: 120,
      need: 200,
    });
    expect(pooledCoverage(hours([null, null]), SPREAD)).toMatchObject({ have: 0 });
    expect(pooledCoverage(hours([totals(199)]), SPREAD)).toMatchObject({ have: 199, need: 200 });
    expect(pooledCoverage(hours([totals(200)]), SPREAD).kind).toBe('coverage');
  });

  it('of one window is the density of that window', () => {
    const ranks = Array.from({ length: 300 }, (_, i) => ({ first: i + 1, last: i + 1, of: 300 }));
    const surprises = Float64Array.from(ranks, surpriseOf);
    const sessions = ranks.map((_, i) => i);
    const density = queryDensity(ranks, surprises, new Int32Array(300), sessions);
    if (density === null) throw new Error('there are queries');
    const pooled = pooledCoverage(hours([coverageTotals(density)]), SPREAD);
    if (pooled.kind !== 'coverage') throw new Error('there are sessions enough');
    expect(pooled.density).toBeCloseTo(density.density, 12);
    expect(pooled.uncovered.share).toBeCloseTo(density.uncovered.share, 12);
    // The interval includes the sampling error of the baseline.
    expect(pooled.uncovered.ciHigh).toBeGreaterThan(density.uncovered.ciHigh);
  });
});

const HOUR = 3_600_000;

/** A window whose sessions have these mean surprises; the first `inRegion7` sessions are in region 7. */
function aWindow(hour: number, surprises: readonly number[], inRegion7 = 0): WindowTotals {
  const regions = surprises.map((_, i) => (i < inRegion7 ? 7 : 2));
  const sessions = surprises.map((_, i) => i);
  const means = sessionMeans(Float64Array.from(surprises), regions, sessions);
  return windowTotals({ startMs: hour * HOUR, endMs: (hour + 1) * HOUR }, means);
}

describe('window totals', () => {
  it('cover all sessions and each region, in the order of the regions', () => {
    expect(aWindow(3, [1, 2, 4], 2)).toEqual({
      startMs: 3 * HOUR,
      endMs: 4 * HOUR,
      all: { sessions: 3, sumX: 7 },
      regions: [
        { region: 2, sessions: 1, sumX: 4 },
        { region: 7, sessions: 2, sumX: 3 },
      ],
    });
  });
});

describe('density over windows', () => {
  it('is e to the power of the baseline surprise minus the mean surprise, with one vote per session', () => {
    const pooled = pooledDensity([aWindow(0, [1, 1, 1]), aWindow(1, [5])], 0, 0.9);
    expect(pooled).toMatchObject({ startMs: 0, endMs: 2 * HOUR, sessions: 4 });
    expect(pooled?.density).toBeCloseTo(Math.exp(BASELINE_MEAN_X - 8 / 4), 12);
  });

  it('has a wider interval if the sessions of the baseline vary more', () => {
    const windows = [aWindow(0, [0.5, 1, 1, BASELINE_MEAN_X * 4 - 2.5])];
    const calm = pooledDensity(windows, 0, 0.9);
    const scattered = pooledDensity(windows, 0, 3.6);
    expect(calm?.density).toBeCloseTo(1, 12);
    expect(calm?.low).toBeLessThan(1);
    expect(calm?.high).toBeGreaterThan(1);
    expect(scattered?.low).toBeLessThan(calm?.low ?? 0);
    expect(scattered?.high).toBeGreaterThan(calm?.high ?? 0);
  });

  it('excludes windows before the given time', () => {
    const windows = [aWindow(0, [9, 9]), aWindow(1, [1]), aWindow(2, [3])];
    expect(pooledDensity(windows, HOUR, 0.9)).toMatchObject({ startMs: HOUR, sessions: 2 });
  });

  it('is null without sessions', () => {
    expect(pooledDensity([], 0, 0.9)).toBeNull();
    expect(pooledDensity([aWindow(0, [1])], HOUR, 0.9)).toBeNull();
  });
});
