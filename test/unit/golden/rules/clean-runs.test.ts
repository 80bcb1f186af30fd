/** Tests which runs are used to measure the noise of a retriever. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseCleanRuns, type RunFacts } from '../../../../src/golden/rules/clean-runs.ts';

const key = { measure: 'ndcg', k: 10 } as const;

function facts(runId: string, mean: number, parts: Partial<RunFacts> = {}): RunFacts {
  const clean = { failed: 0, failedChecks: [], incidents: [], deployments: 0 };
  return { runId, ...clean, means: [{ key, mean }], ...parts };
}

describe('the runs from which a baseline estimates its noise', () => {
  it('include rare small deviations, without which every small difference would count as a change', () => {
    const others = [0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.785, 0.8].map((mean, n) => facts(`r${n}`, mean));
    expect(chooseCleanRuns(facts('pinned', 0.8), others, false)).toEqual({
      kept: others.map(({ runId }) => runId),
      excluded: [],
    });
  });

  it('exclude a run whose score is far from the median, with the reason', () => {
    const others = [0.8, 0.8, 0.8, 0.67].map((mean, n) => facts(`r${n}`, mean));
    const { kept, excluded } = chooseCleanRuns(facts('pinned', 0.8), others, false);
    expect(kept).toEqual(['r0', 'r1', 'r2']);
    expect(excluded).toEqual([{ runId: 'r3', reason: 'its ndcg@10 of 0.67 is far from the median of all runs (0.8)' }]);
  });

  it('include the widely spread runs of a noisy retriever, none of which is an outlier', () => {
    const others = [0.6, 0.8, 0.65, 0.75, 0.62, 0.78].map((mean, n) => facts(`r${n}`, mean));
    expect(chooseCleanRuns(facts('pinned', 0.7), others, false).excluded).toEqual([]);
  });

  it('may share a failed check or an open incident with the pinned run only if they were requested for its pin', () => {
    const doubts = { failedChecks: ['ndcg@10 below 0.7 on faq'], incidents: ['7'] };
    const others = [facts('r1', 0.6, doubts)];
    expect(chooseCleanRuns(facts('pinned', 0.6, doubts), others, true).kept).toEqual(['r1']);
    expect(chooseCleanRuns(facts('pinned', 0.6, doubts), others, false).kept).toEqual([]);
  });

  it('never include a run with a failed query or a deployment, and every run is either kept or excluded', () => {
    const run = fc.record({
      mean: fc.double({ min: 0, max: 1, noNaN: true }),
      failed: fc.nat(2),
      deployments: fc.nat(1),
    });
    fc.assert(
      fc.property(fc.array(run, { maxLength: 12 }), fc.boolean(), (runs, isRequested) => {
        const others = runs.map(({ mean, ...parts }, n) => facts(`r${n}`, mean, parts));
        const { kept, excluded } = chooseCleanRuns(facts('pinned', 0.5), others, isRequested);
        const named = [...kept, ...excluded.map(({ runId }) => runId)];
        expect(named.toSorted()).toEqual(others.map(({ runId }) => runId).toSorted());
        for (const { runId, failed, deployments } of others)
          if (failed > 0 || deployments > 0) expect(kept).not.toContain(runId);
      }),
    );
  });
});
