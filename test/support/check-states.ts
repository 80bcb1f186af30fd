/** Check states from stored data: the states after an evaluation, and the states that a later read returns. */

import { type CheckStore, type StoredCheckStatus, statesOf, type WatchedChecks } from '../../src/checks/check-store.ts';
import { evaluateAll, type StoredFacts } from '../../src/checks/evaluate-checks.ts';
import type { CheckState } from '../../src/checks/rules/check-state.ts';
import type { Context } from '../../src/core/context.ts';
import { contextOf } from './context.ts';

type Watched = Pick<WatchedChecks, 'pipelines'> & Partial<Pick<Context, 'densityPlans'>>;

/** Returns the states after an evaluation at the time `at`. By default, golden sets run hourly without a rotation. */
export function evaluated(
  { pipelines, densityPlans = [] }: Watched,
  facts: Partial<StoredFacts>,
  at: Date,
): Pick<CheckStore, 'statuses'> {
  const all: StoredFacts = {
    latest: [],
    density: new Map(),
    measurements: [],
    isolation: [],
    intervalSeconds: () => 3600,
    liveIntervalSeconds: 300,
    ...facts,
  };
  const steps = evaluateAll(contextOf({ pipelines, densityPlans }), all, [], at);
  const statuses = steps.map(({ status }): StoredCheckStatus => ({ ...status, revision: 1 }));
  return { statuses: async () => statuses };
}

/** Returns the check states that a read at `readAt` returns, after an evaluation at `evaluatedAt`. */
export async function statesAt(
  watched: Watched,
  facts: Partial<StoredFacts>,
  { evaluatedAt, readAt = evaluatedAt }: { readonly evaluatedAt: Date; readonly readAt?: Date },
): Promise<CheckState[]> {
  const statuses = await evaluated(watched, facts, evaluatedAt).statuses();
  return statesOf({ densityPlans: [], ...watched }, statuses, readAt);
}

/** A check whose threshold was crossed at 19:15, and which has been failing since 19:20. */
export function aCheckState(parts: Partial<CheckState> = {}): CheckState {
  return {
    kind: 'floor',
    measure: 'ndcg@10',
    pipeline: 'docs',
    goldenSet: 'faq',
    name: 'ndcg@10 below 0.8 on faq',
    severity: 'critical',
    threshold: 0.8,
    verdict: 'critical',
    since: new Date('2026-11-20T19:20:00Z'),
    value: 0.037,
    smallestDetectableDrop: null,
    ciLow: 0.02,
    ciHigh: 0.06,
    n: 160,
    before: 1,
    breachedSince: new Date('2026-11-20T19:15:30Z'),
    outageUntil: null,
    comparedWith: null,
    segment: null,
    explanation: 'It is 0.0370.',
    evaluatedAt: new Date('2026-11-20T19:20:00Z'),
    isTooOld: false,
    isQuiet: false,
    ...parts,
  };
}
