import { expect, it } from 'vitest';
import type { StoredCheckStatus } from '../../../src/checks/check-store.ts';
import { evaluateAll, type StoredFacts } from '../../../src/checks/evaluate-checks.ts';
import { goldenCheckName } from '../../../src/checks/rules/golden-checks.ts';
import type { Verdict } from '../../../src/core/model.ts';
import { aCompletedRun, aLatestRun, aWatchedPipeline, goldenChecks, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';

const regression = { measure: 'ndcg@10', drop: 0.02, alpha: 0.05, severity: 'critical', runs: 1 } as const;
const pipeline = aWatchedPipeline({ checks: goldenChecks({ regressions: [regression] }) });

/**
 * Evaluates a run that ended `minute` minutes after noon with this difference from its baseline, and returns the
 * status.
 */
function evaluate(
  previous: StoredCheckStatus | null,
  minute: number,
  run: { readonly against: string; readonly value: number; readonly verdict: Verdict },
): StoredCheckStatus {
  const finishedAt = new Date(NOON.getTime() + minute * 60_000);
  const { against, value, verdict } = run;
  const latest = aLatestRun();
  if (latest.ended === null) throw new Error('the builder makes a run that ended');
  const name = goldenCheckName({ ...regression, kind: 'regression' }, 'faq');
  const measured = { value, ciLow: null, ciHigh: null, n: 40, isBeyond: verdict === 'critical', explanation: '' };
  const checks = [{ name, severity: 'critical', threshold: -0.02, verdict, ...measured }] as const;
  const facts: StoredFacts = {
    latest: [
      {
        ...latest,
        ended: { ...latest.ended, checks, finishedAt },
        completed: aCompletedRun({ finishedAt, baseline: { kind: 'baseline', against, differences: [] } }),
      },
    ],
    density: new Map(),
    measurements: [],
    intervalSeconds: () => 3600,
    liveIntervalSeconds: 300,
    isolation: [],
  };
  const known = previous === null ? [] : [previous];
  const [step] = evaluateAll(contextOf({ pipelines: [pipeline], densityPlans: [] }), facts, known, finishedAt);
  if (step === undefined) throw new Error('there is one check');
  return { ...step.status, revision: minute };
}

it('a regression check reports an earlier value only if it was measured against the same baseline', () => {
  const good = evaluate(null, 1, { against: 'run-1', value: 0.001, verdict: 'ok' });
  const bad = evaluate(good, 2, { against: 'run-1', value: -0.1, verdict: 'critical' });
  expect(bad).toMatchObject({ value: -0.1, before: 0.001, comparedWith: 'run-1' });
  const pinned = evaluate(bad, 3, { against: 'run-2', value: -0.04, verdict: 'critical' });
  expect(pinned).toMatchObject({ value: -0.04, before: null, comparedWith: 'run-2', breachedSince: bad.breachedSince });
});
