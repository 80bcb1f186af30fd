import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomNumbers } from '../../../../bench/random-numbers.ts';
import { type SteadyVerdict, steadyVerdict } from '../../../../src/checks/rules/check-state.ts';
import {
  falseBreaches,
  falseRegressions,
  marginNeeded,
  NEXT_TO_NONE,
} from '../../../../src/checks/rules/false-pages.ts';
import {
  type ComparedWithBaseline,
  evaluateRegression,
  type RegressionCheck,
} from '../../../../src/checks/rules/regression.ts';
import { NO_SHIFT } from '../../../../src/checks/rules/threshold.ts';
import type { Verdict } from '../../../../src/core/model.ts';
import { normalCdf } from '../../../../src/math/stats/distributions.ts';

const hourly = 24 * 90;

/** A run whose mean differs from the baseline's mean by this many standard deviations of the difference. */
function aRun(id: number, deviations: number): ComparedWithBaseline {
  const key = { measure: 'ndcg', k: 10 } as const;
  const p = 2 * normalCdf(-Math.abs(deviations));
  const rest = {
    n: 300,
    ciLow: -1,
    ciHigh: 1,
    ciMethod: 't' as const,
    wins: 1,
    losses: 1,
    smallestDetectableDifference: null,
  };
  return {
    runId: `${id}`,
    baselineRunId: 'pinned',
    metrics: [{ ...rest, key, p, difference: deviations }],
  };
}

/** Counts how many times the check turns critical, as in the simulation of calibration/golden-runs.md. */
function pages(check: RegressionCheck, stream: readonly ComparedWithBaseline[]): number {
  let found = 0;
  let previous: Verdict | null = null;
  for (const [index, run] of stream.entries()) {
    const history = stream.slice(Math.max(0, index - check.runs + 1), index);
    const { verdict } = evaluateRegression(check, run, history, NO_SHIFT, previous);
    if (verdict === 'critical' && previous !== 'critical') found++;
    previous = verdict;
  }
  return found;
}

function aCheck(alpha: number, runs: number): RegressionCheck {
  return { measure: 'ndcg@10', drop: 1e-6, alpha, severity: 'critical', runs };
}

describe('the expected false regressions', () => {
  it('are under one in 90 days of hourly runs for the check of the example config', () => {
    expect(falseRegressions({ alpha: 0.005, runs: 2 }, hourly)).toBeCloseTo(0.746, 3);
  });

  it('equal alpha for a single run', () => {
    expect(falseRegressions({ alpha: 0.01, runs: 1 }, 1)).toBeCloseTo(0.01, 8);
  });

  it.each([1, 2, 3])('match the number that the check produces from noise, with %i consecutive runs', (runs) => {
    const [streams, evaluations] = [500, 40];
    const check = aCheck(0.1, runs);
    const random = randomNumbers(runs);
    const counts = Array.from({ length: streams }, () => {
      const baseline = random.normal();
      const stream = Array.from({ length: evaluations }, (_, id) =>
        aRun(id, (random.normal() - baseline) / Math.SQRT2),
      );
      return pages(check, stream);
    });
    const mean = counts.reduce((sum, count) => sum + count, 0) / streams;
    const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / streams;
    const expected = falseRegressions(check, evaluations);
    expect(Math.abs(mean - expected)).toBeLessThan(4 * Math.sqrt(variance / streams));
  });

  it('never exceed alpha times evaluations divided by runs, increase with evaluations and decrease with runs', () => {
    const alphas = fc.double({ min: 1e-4, max: 0.99, noNaN: true });
    fc.assert(
      fc.property(
        alphas,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 0, max: 400 }),
        (alpha, runs, evaluations) => {
          const expected = falseRegressions({ alpha, runs }, evaluations);
          const rounding = 1e-9 * (1 + evaluations);
          expect(expected).toBeGreaterThanOrEqual(0);
          expect(expected).toBeLessThanOrEqual((evaluations * alpha) / runs + rounding);
          expect(falseRegressions({ alpha, runs }, evaluations + 1)).toBeGreaterThanOrEqual(expected - rounding);
          expect(falseRegressions({ alpha, runs: runs + 1 }, evaluations)).toBeLessThanOrEqual(expected + rounding);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('cannot exceed the number of significant runs divided by the required runs', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (calls, runs) => {
        const stream = calls.map((isCalled, id) => aRun(id, isCalled ? -9 : 0));
        expect(pages(aCheck(0.01, runs), stream) * runs).toBeLessThanOrEqual(calls.filter(Boolean).length);
      }),
    );
  });
});

describe('the expected false breaches', () => {
  it('are 2.5 % of the evaluations if the value equals the threshold', () => {
    expect(falseBreaches({ evaluations: 1000, confirm: 1, values: 1 }, 0)).toBeCloseTo(25, 9);
  });

  it('are negligible at the required margin, and decrease as the margin grows', () => {
    const evaluations = fc.record({
      evaluations: fc.integer({ min: 0, max: 100_000 }),
      confirm: fc.integer({ min: 1, max: 100 }),
      values: fc.integer({ min: 1, max: 1001 }),
    });
    fc.assert(
      fc.property(evaluations, fc.double({ min: 0, max: 5, noNaN: true }), (bounded, more) => {
        const room = marginNeeded(bounded);
        const least = falseBreaches(bounded, room);
        expect(least).toBeLessThanOrEqual(NEXT_TO_NONE * (1 + 1e-9));
        expect(falseBreaches(bounded, room + more)).toBeLessThanOrEqual(least);
      }),
    );
    expect(marginNeeded({ evaluations: 0, confirm: 1, values: 1 })).toBe(0);
    expect(falseBreaches({ evaluations: hourly, confirm: 1, values: 1 }, Number.POSITIVE_INFINITY)).toBe(0);
  });

  it('cannot exceed the evaluations beyond the threshold divided by the required confirmations', () => {
    const verdicts = fc.array(fc.constantFrom('ok', 'warning', 'critical', 'no_data'), { maxLength: 80 });
    fc.assert(
      fc.property(verdicts, fc.integer({ min: 1, max: 5 }), fc.boolean(), (shown, confirm, isClear) => {
        let [state, found]: [SteadyVerdict | null, number] = [null, 0];
        for (const [index, verdict] of shown.entries()) {
          const next = steadyVerdict(state, { verdict, isClear }, new Date(index), confirm);
          // Failures before and after a gap count as one page.
          if (next.verdict === 'critical' && state?.lastKnown !== 'critical') found++;
          state = next;
        }
        const beyond = shown.filter((verdict) => verdict === 'critical').length;
        expect(found * confirm).toBeLessThanOrEqual(beyond);
      }),
    );
  });
});
