/** What a golden run shows: its failures, its answers against those of a good run, its labels. */

import { failedShare, type GoldenRun, type QueryAnswer } from '../golden/rules/run.ts';
import { readComparedSide, type StoredRuns } from '../golden/runs/stored-runs.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import type { IntervalOf } from '../measures/rules/trust.ts';
import { ageSeconds, INTERVALS_TO_TRUST } from '../measures/rules/trust.ts';
import { changedAnswers } from './rules/changed-answers.ts';
import type { ObservedRun, OwnWork } from './rules/observations.ts';

export async function observeRun(
  deps: StoredRuns,
  run: GoldenRun,
  reference: GoldenRun | null,
): Promise<ObservedRun> {
  const { runs } = deps;
  const [after, before, outcomes, latency95Ms, stale] = await Promise.all([
    readComparedSide(deps, run),
    reference === null ? null : readComparedSide(deps, reference),
    runs.outcomes(run.id),
    runs.latency95(run.id),
    runs.staleLabels(run.id),
  ]);
  const { probed, stale: gone } = run.labels;
  const touched = new Set(stale.map(({ queryId }) => queryId));
  return {
    goldenSet: run.goldenSet,
    outcomes,
    commonError: commonError(after.answers),
    latency95Ms,
    labels: probed === null || gone === null ? null : { probed, stale: gone },
    reference:
      reference === null || before === null
        ? null
        : {
            latency95Ms: await runs.latency95(reference.id),
            staleBefore: reference.labels.stale,
            version: reference.goldenSetVersion,
            isSameVersion: reference.goldenSetVersion === run.goldenSetVersion,
            answers: changedAnswers(before, after, touched),
          },
  };
}

function commonError(answers: readonly QueryAnswer[]): string | null {
  const counts = new Map<string, number>();
  for (const { errorCode } of answers)
    if (errorCode !== null) counts.set(errorCode, (counts.get(errorCode) ?? 0) + 1);
  const [first] = [...counts].toSorted(([, a], [, b]) => b - a);
  return first?.[0] ?? null;
}

const FEW_FAILURES = 0.5;

/** Whether recalld starts its runs and brings them to an end; null without a set that runs by schedule. */
export function observeOwnWork(
  pipeline: string,
  latest: readonly LatestRun[],
  run: Pick<ObservedRun, 'outcomes'> | null,
  ended: GoldenRun | null,
  intervalSeconds: IntervalOf,
  now: Date,
): OwnWork | null {
  for (const { goldenSet, lastAttemptAt } of latest.filter((one) => one.pipeline === pipeline)) {
    const interval = intervalSeconds(pipeline, goldenSet);
    if (interval === null) continue;
    const intervals = ageSeconds(lastAttemptAt, now) / interval;
    if (intervals > INTERVALS_TO_TRUST) return { kind: 'overdue', goldenSet, intervals };
  }
  if (ended === null || run === null) return null;
  // A run that its retriever failed is the retriever's failure.
  if (ended.status === 'failed' && failedShare(run.outcomes) < FEW_FAILURES)
    return { kind: 'failed', goldenSet: ended.goldenSet, reason: ended.reason ?? 'it says no reason.' };
  return { kind: 'done' };
}
