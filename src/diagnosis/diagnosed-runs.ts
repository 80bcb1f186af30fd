/** Which golden run shows what is wrong, and which one before it shows how it was. */

import { failedShare, type GoldenRun } from '../golden/rules/run.ts';
import type { GoldenBaselines } from '../golden/sql/golden-baselines.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { Alarm } from './alarms.ts';

export interface DiagnosedRunsDeps {
  readonly runs: Pick<GoldenRuns, 'find' | 'list' | 'checks' | 'outcomes'>;
  readonly baselines: Pick<GoldenBaselines, 'pinned'>;
}

/** Most runs that are looked through for a good one: two days of an hourly set. */
const MOST_LOOKED_THROUGH = 48;
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
  for (const candidate of await deps.runs.list({ ...earlier, limit: MOST_LOOKED_THROUGH })) {
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
