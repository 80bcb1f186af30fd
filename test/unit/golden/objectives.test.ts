import { describe, expect, it } from 'vitest';
import { objectiveProblems } from '../../../src/golden/objectives.ts';
import type { Objective } from '../../../src/metrics/alert-rules.ts';

const problemsOf = (...objectives: readonly Objective[]) =>
  objectiveProblems([{ name: 'docs', goldenSets: [], objectives }]);

describe('an objective', () => {
  it('that a page can watch has no problem', () => {
    expect(
      problemsOf(
        { slo: 'success', target: 0.99, windowDays: 30 },
        { slo: 'latency', target: 0.95, withinSeconds: 1, windowDays: 30 },
      ),
    ).toEqual({ impossible: [], leftOut: [] });
  });

  it('of 90 % loses its fastest page, and that is said', () => {
    const { impossible, leftOut } = problemsOf({ slo: 'success', target: 0.9, windowDays: 30 });
    expect(impossible).toEqual([]);
    expect(leftOut).toEqual([expect.stringMatching(/^The objective success of docs: .*14\.4 over 1h/)]);
  });

  it('of 80 % is refused: no page could ever fire', () => {
    const { impossible } = problemsOf({ slo: 'results', target: 0.8, windowDays: 30 });
    expect(impossible).toHaveLength(2);
    expect(impossible[1]).toContain('It takes an objective above 83.4 %. Raise it, or leave it out of slo.');
  });

  it('on a latency between two buckets is refused, with the buckets', () => {
    const { impossible } = problemsOf({ slo: 'latency', target: 0.99, withinSeconds: 0.7, windowDays: 30 });
    expect(impossible).toEqual([expect.stringMatching(/within 0\.7 s.*use one of 0\.005, .*10\.$/)]);
  });
});
