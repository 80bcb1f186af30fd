/** Against reference values of numpy, scipy and scikit-learn; each file names its formula and its tool. */
import { describe, expect, it } from 'vitest';
import { clusterExcess } from '../../../../src/density/rules/tail-clusters.ts';
import { differences, driftCases } from '../../../support/drift-conformance.ts';

describe('tail clusters', () => {
  interface Input {
    readonly tail_current: readonly number[];
    readonly tail_baseline: readonly number[];
    readonly window_sessions: number;
    readonly baseline_sessions: number;
  }
  interface Expected {
    readonly p: readonly number[];
    readonly holm: readonly number[];
    readonly bh: readonly number[];
    readonly traffic_share: readonly number[];
    readonly baseline_share: readonly number[];
    readonly excess_points: readonly number[];
  }

  it.each(driftCases<Input, Expected>('tail_clusters'))('$name', ({ input, expected }) => {
    const clusters = clusterExcess(
      input.tail_current.map((current, i) => ({ current, baseline: input.tail_baseline[i] ?? 0 })),
      { current: input.window_sessions, baseline: input.baseline_sessions },
    );
    const columns = [
      ['p', expected.p],
      ['holm', expected.holm],
      ['benjaminiHochberg', expected.bh],
      ['trafficShare', expected.traffic_share],
      ['baselineShare', expected.baseline_share],
      ['excessPoints', expected.excess_points],
    ] as const;
    for (const [column, reference] of columns) {
      expect(
        differences(
          clusters.map((cluster) => cluster[column]),
          reference,
        ),
        column,
      ).toEqual([]);
    }
    // Tails far below the tolerance keep their digits as well.
    for (const [i, { p }] of clusters.entries()) expect(p / (expected.p[i] ?? 0)).toBeCloseTo(1, 9);
  });
});
