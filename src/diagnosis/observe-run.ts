/** What a golden run shows: its failures, its answers against those of a good run, its labels. */

import { failedShare, type GoldenRun, type QueryAnswer } from '../golden/rules/run.ts';
import { readComparedSide, type StoredRuns } from '../golden/runs/stored-runs.ts';
import type { GoldenBaselines } from '../golden/sql/golden-baselines.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { ageSeconds, INTERVALS_TO_TRUST, type IntervalOf } from '../measures/rules/measurement.ts';
import type { Alarm } from './alarms.ts';
import { changedAnswers } from './rules/changed-answers.ts';
import type { ObservedRun, OwnWork } from './rules/observations.ts';

/** Which golden run shows what is wrong, and which one before it shows how it was. */
interface DiagnosedRunsDeps {
  readonly runs: Pick<GoldenRuns, 'find' | 'list' | 'checks' | 'outcomes'>;
  readonly baselines: Pick<GoldenBaselines, 'pinned'>;
}

/** Most runs that are looked through for a good one: two days of an hourly set. */
const MAX_LOOKED_THROUGH = 48;
const FEW_FAILURES = 0.05;

/** The latest run that ended of the set in the worst alarm; else of the first set of the config, as a control. */
export async function latestEnded(
  { runs }: DiagnosedRunsDeps,
  { name: pipeline, golden }: WatchedPipeline,
  alarms: readonly Alarm[],
): Promise<GoldenRun | null> {
  const goldenSet = alarms.find((alarm) => alarm.goldenSet !== null)?.goldenSet ?? golden[0]?.set;
  if (goldenSet === undefined) return null;
  // However many runs wait behind a slow retriever.
  const found = await Promise.all(
    (['completed', 'void', 'failed'] as const).map((status) =>
      runs.list({ pipeline, goldenSet, status, limit: 1 }),
    ),
  );
  return found.flat().toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime())[0] ?? null;
}

/**
 * The last run before it that completed with nothing in alarm; else the pinned baseline; else null. While an episode
 * lasts it is `known`, the one that the episode was opened with, so that it is held against how things were before.
 */
export async function lastGood(
  deps: DiagnosedRunsDeps,
  run: GoldenRun,
  known: string | null,
): Promise<GoldenRun | null> {
  const { pipeline, goldenSet } = run;
  const kept = known === null ? null : await deps.runs.find(known);
  if (kept !== null && kept.goldenSet === goldenSet && kept.id !== run.id) return kept;
  const earlier = { pipeline, goldenSet, status: 'completed', before: run } as const;
  for (const candidate of await deps.runs.list({ ...earlier, limit: MAX_LOOKED_THROUGH })) {
    if (await isGood(deps, candidate)) return candidate;
  }
  const pinned = await deps.baselines.pinned(pipeline, goldenSet);
  const baseline = pinned === null ? null : await deps.runs.find(pinned.runId);
  return baseline !== null && baseline.id !== run.id && baseline.startedAt < run.startedAt ? baseline : null;
}

async function isGood({ runs }: DiagnosedRunsDeps, run: GoldenRun): Promise<boolean> {
  const [checks, outcomes] = await Promise.all([runs.checks(run.id), runs.outcomes(run.id)]);
  return (
    checks.every(({ verdict }) => verdict === 'ok' || verdict === 'no_data') &&
    failedShare(outcomes) < FEW_FAILURES
  );
}

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

const MOSTLY_FAILED = 0.5;

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
  if (ended.status === 'failed' && failedShare(run.outcomes) < MOSTLY_FAILED)
    return { kind: 'failed', goldenSet: ended.goldenSet, reason: ended.reason ?? 'it says no reason.' };
  return { kind: 'done' };
}
