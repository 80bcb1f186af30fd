import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { burnRates, objectiveProblems } from '../../../src/golden/objectives.ts';
import type { Objective } from '../../../src/platform/metrics/alert-rules.ts';

const problemsOf = (...objectives: readonly Objective[]) =>
  objectiveProblems({ pipelines: [{ name: 'docs', goldenSets: [], objectives }], latencyBuckets: [0.5, 1, 2.5] });

describe('an objective', () => {
  it('has no problem if its alerts can fire', () => {
    expect(
      problemsOf(
        { slo: 'success', target: 0.99, windowDays: 30 },
        { slo: 'latency', target: 0.95, withinSeconds: 1, windowDays: 30 },
      ),
    ).toEqual({ impossible: [], omitted: [] });
  });

  it('of 90 % loses its fastest burn rate alert, with a warning', () => {
    const { impossible, omitted } = problemsOf({ slo: 'success', target: 0.9, windowDays: 30 });
    expect(impossible).toEqual([]);
    expect(omitted).toEqual([expect.stringMatching(/^The objective success of docs: .*14\.4 over 1h/)]);
  });

  it('of 80 % is refused, since none of its critical alerts could fire', () => {
    const { impossible } = problemsOf({ slo: 'results', target: 0.8, windowDays: 30 });
    expect(impossible).toHaveLength(2);
    expect(impossible[1]).toContain(
      'A burn rate alert requires an objective above 83.4 %. Raise the objective, or remove it from slo.',
    );
  });

  it('for a latency between two buckets is refused, and the error lists the buckets', () => {
    const { impossible } = problemsOf({ slo: 'latency', target: 0.99, withinSeconds: 0.7, windowDays: 30 });
    expect(impossible).toEqual([
      expect.stringMatching(
        /within 0\.7 s.*Use one of 0\.5, 1, 2\.5, or add the bucket to metrics\.latency_buckets\.$/,
      ),
    ]);
  });
});

describe('the burn rates of an objective', () => {
  it('are those of the SRE Workbook for a window of 30 days', () => {
    expect(burnRates(0.99, 30)).toEqual({
      possible: [
        { factor: 14.4, short: '5m', long: '1h', severity: 'critical' },
        { factor: 6, short: '30m', long: '6h', severity: 'critical' },
        { factor: 3, short: '2h', long: '1d', severity: 'warning' },
        { factor: 1, short: '6h', long: '3d', severity: 'warning' },
      ],
      refused: [],
    });
  });

  it('exclude rates that an objective of 90 % makes impossible, with the reason', () => {
    const { possible, refused } = burnRates(0.9, 30);
    expect(possible.map(({ factor }) => factor)).toEqual([6, 3, 1]);
    expect(refused).toEqual([
      'The objective of 0.9 cannot be monitored at a burn rate of 14.4 over 1h: 144 % of the queries would have to be bad. A burn rate alert requires an objective above 93.1 %.',
    ]);
  });

  it('can all fire unless they are refused', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 0.9999, noNaN: true }),
        fc.integer({ min: 7, max: 90 }),
        (target, days) => {
          const { possible, refused } = burnRates(target, days);
          expect(possible.length + refused.length).toBe(4);
          for (const { factor } of possible) expect(factor * (1 - target)).toBeLessThan(1);
        },
      ),
    );
  });
});
