import { describe, expect, it } from 'vitest';
import {
  type CoverageTotals,
  coverageTotals,
  pooledCoverage,
} from '../../../../src/density/rules/pooled-density.ts';
import { queryDensity } from '../../../../src/density/rules/query-density.ts';

const HOUR = 3_600_000;

function hours(totals: readonly (CoverageTotals | null)[]) {
  return totals.map((own, i) => ({ startMs: i * HOUR, endMs: (i + 1) * HOUR, totals: own }));
}

const totals = (sessions: number, meanX = 0.99, uncovered = 0.05): CoverageTotals => ({
  sessions,
  queries: 2 * sessions,
  sumX: sessions * meanX,
  sumUncovered: sessions * uncovered,
});

describe('coverage over windows', () => {
  it('is that of the latest one when it has 200 sessions', () => {
    const pooled = pooledCoverage(hours([totals(500, 3), totals(200, 0.99)]), 1);
    expect(pooled).toMatchObject({ kind: 'coverage', sessions: 200, startMs: HOUR, density: 1 });
  });

  it('takes as many windows as it needs, and no more', () => {
    const pooled = pooledCoverage(hours([totals(500, 3), totals(150, 0.99), totals(50, 1.99, 0.25)]), 1);
    expect(pooled).toMatchObject({ sessions: 200, queries: 400, startMs: HOUR, endMs: 3 * HOUR });
    if (pooled.kind !== 'coverage') throw new Error('there are sessions enough');
    expect(pooled.density).toBeCloseTo(Math.exp(-0.25), 12);
    expect(pooled.uncovered.share).toBeCloseTo(0.1, 12);
    expect(pooled.low).toBeLessThan(pooled.density);
  });

  it('goes back a day at most, and says how many sessions are missing', () => {
    const sparse = Array.from({ length: 48 }, () => totals(5));
    expect(pooledCoverage(hours(sparse), 1)).toEqual({
      kind: 'insufficient_data',
      of: 'sessions',
      have: 120,
      need: 200,
    });
    expect(pooledCoverage(hours([null, null]), 1)).toMatchObject({ have: 0 });
  });

  it('of one window is the density of that window', () => {
    const percentiles = Float64Array.from({ length: 300 }, (_, i) => (i + 1) / 300);
    const surprises = percentiles.map((u) => Math.min(-Math.log(u), Math.log(100)));
    const sessions = Array.from(percentiles, (_, i) => i);
    const density = queryDensity(percentiles, surprises, new Int32Array(300), sessions);
    if (density === null) throw new Error('there are queries');
    const pooled = pooledCoverage(hours([coverageTotals(density)]), 1);
    if (pooled.kind !== 'coverage') throw new Error('there are sessions enough');
    expect(pooled.density).toBeCloseTo(density.density, 12);
    expect(pooled.uncovered.ciHigh).toBeCloseTo(density.uncovered.ciHigh, 12);
  });
});
