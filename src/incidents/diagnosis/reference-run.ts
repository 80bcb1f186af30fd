/**
 * Finds the golden runs of a diagnosis: the run that shows the fault, the last good run as its reference, and the runs
 * around both.
 */

import { isRegression, type RegressionCheck } from '../../checks/rules/regression.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { TimeSpan } from '../../core/time.ts';
import { ERRORS_SHARE, failedShare, type GoldenRun, type RunLabels } from '../../golden/rules/run.ts';
import type { RunMetricKey } from '../../golden/rules/score-run.ts';
import { readComparedSide, readForbiddenResults } from '../../golden/runs/stored-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import type { Alert } from './rules/incident.ts';
import { type ObservedLevel, type ObservedRun, observedRun, type RunsSeen } from './rules/observations.ts';

/** Maximum number of runs searched for a good one: two days of an hourly golden set. */
const MAX_SEARCHED = 48;

/**
 * Returns the latest finished run of the golden set with the worst alert. Without such an alert, uses the first
 * configured golden set.
 */
export async function latestEnded(
  { db }: Context,
  { name: pipeline, golden }: WatchedPipeline,
  alerts: readonly Alert[],
): Promise<GoldenRun | null> {
  const goldenSet = alerts.find((alert) => alert.goldenSet !== null)?.goldenSet ?? golden[0]?.set;
  if (goldenSet === undefined) return null;
  // Queries each status separately, so that many waiting runs do not hide the finished ones.
  const found = await Promise.all(
    (['completed', 'void', 'failed'] as const).map((status) =>
      db.golden.runs.list({ pipeline, goldenSet, status, limit: 1 }),
    ),
  );
  return found.flat().toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime())[0] ?? null;
}

export interface ReferenceRuns {
  /** The last good run; otherwise the pinned baseline; otherwise null. */
  readonly reference: GoldenRun | null;
  /** Completed runs between the reference run and the examined run, newest first. */
  readonly bad: readonly GoldenRun[];
  /** Completed runs before the reference run, newest first. */
  readonly earlier: readonly GoldenRun[];
}

export interface ReferenceCriteria {
  readonly regressions: readonly RegressionCheck[];
  /** First bad measurement behind the firing alerts; null if only golden runs show the fault. */
  readonly firstBad: TimeSpan | null;
  /** Reference run of the open incident, which does not change while the incident is open; null for a new incident. */
  readonly known: string | null;
}

/**
 * Finds the last good run before the first bad measurement. The first failing verdict may come later because it needs
 * confirmation. A run that already shows the regression, or that ended after the first bad measurement, is therefore
 * not a reference run.
 */
export async function findReferenceRun(
  context: Context,
  run: GoldenRun,
  { regressions, firstBad, known }: ReferenceCriteria,
): Promise<ReferenceRuns> {
  const { pipeline, goldenSet } = run;
  const kept = known === null ? null : await context.db.golden.runs.find(known);
  const runs = await context.db.golden.runs.list({
    pipeline,
    goldenSet,
    status: 'completed',
    before: run,
    limit: MAX_SEARCHED,
  });
  if (kept !== null && kept.goldenSet === goldenSet && kept.id !== run.id) return splitAt(kept, runs);
  for (const candidate of runs) {
    const isBefore = firstBad === null || (candidate.finishedAt ?? candidate.startedAt) <= firstBad.from;
    if (isBefore && (await isGood(context, candidate, regressions))) return splitAt(candidate, runs);
  }
  const pinned = await context.db.golden.baselines.pinned(pipeline, goldenSet);
  const baseline = pinned === null ? null : await context.db.golden.runs.find(pinned.runId);
  const isUsable = baseline !== null && baseline.id !== run.id && baseline.startedAt < run.startedAt;
  return isUsable ? splitAt(baseline, runs) : { reference: null, bad: runs, earlier: [] };
}

function splitAt(reference: GoldenRun, runs: readonly GoldenRun[]): ReferenceRuns {
  return {
    reference,
    bad: runs.filter(({ startedAt }) => startedAt > reference.startedAt),
    earlier: runs.filter(({ startedAt }) => startedAt < reference.startedAt),
  };
}

async function isGood({ db }: Context, run: GoldenRun, regressions: readonly RegressionCheck[]): Promise<boolean> {
  const [checks, outcomes, comparisons] = await Promise.all([
    db.golden.runs.checks(run.id),
    db.golden.runs.outcomes(run.id),
    db.golden.runs.comparisons(run.id),
  ]);
  const differences = comparisons
    .filter(({ kind }) => kind === 'baseline')
    .flatMap((comparison) => comparison.differences)
    .filter(({ segment }) => segment === ALL_SEGMENT);
  return (
    checks.every(({ verdict }) => verdict === 'ok' || verdict === 'no_data') &&
    failedShare(outcomes) < ERRORS_SHARE &&
    !regressions.some((check) =>
      differences.some((difference) => isMeasure(check, difference.key) && isRegression(check, difference)),
    )
  );
}

function isMeasure({ measure }: RegressionCheck, { measure: name, k }: RunMetricKey): boolean {
  return measure === `${name}@${k}`;
}

/**
 * Positions of the earlier runs that are also compared. For an hourly golden set, these are about an hour, a shift and
 * a day before the reference run.
 */
const EARLIER_RUNS = [0, 6, 23];
/** Earlier runs are not compared if at least this share of the documents is unchanged. */
const UNCHANGED_SHARE = 0.95;

export async function observeRun(
  context: Context,
  run: GoldenRun,
  { reference, bad, earlier }: ReferenceRuns,
  key: RunMetricKey | null,
  level: ObservedLevel | null,
): Promise<ObservedRun> {
  const [now, side, superseded, withLost, forbidden] = await Promise.all([
    readComparedSide(context, run),
    reference === null || reference.answersDeletedAt !== null ? null : readComparedSide(context, reference),
    context.db.golden.runs.staleLabels(run.id),
    context.db.golden.runs.lostLabels(run.id),
    readForbiddenResults(context.db.golden.runs, run),
  ]);
  const { probed, stale, lost } = run.labels;
  const seen: RunsSeen = {
    goldenSet: run.goldenSet,
    now,
    labels: probed === null || stale === null ? null : { probed, stale, lost: lost ?? 0 },
    forbidden: forbidden === null ? null : { asked: forbidden.asked, results: forbidden.confirmed.length },
    stale: new Set(superseded.map(({ queryId }) => queryId)),
    lost: new Set(withLost.map(({ queryId }) => queryId)),
    key,
    level,
    reference:
      reference === null || side === null
        ? null
        : {
            side,
            version: reference.goldenSetVersion,
            isSameVersion: reference.goldenSetVersion === run.goldenSetVersion,
            goneBefore: missingOf(reference.labels),
            stages: await readStages(context, reference, run),
            contexts: {
              before: await context.db.golden.runs.contexts(reference.id),
              now: await context.db.golden.runs.contexts(run.id),
            },
          },
    previous: bad[0] === undefined || bad[0].answersDeletedAt !== null ? null : await readComparedSide(context, bad[0]),
    older: [],
  };
  const found = observedRun(seen);
  if ((found.reference?.answers.kept ?? 1) >= UNCHANGED_SHARE) return found;
  const compared = EARLIER_RUNS.flatMap((place) => earlier[place] ?? []).filter(
    ({ answersDeletedAt }) => answersDeletedAt === null,
  );
  const older = await Promise.all(
    compared.map(async (one) => ({ at: one.startedAt, side: await readComparedSide(context, one) })),
  );
  return observedRun({ ...seen, older });
}

function missingOf({ stale, lost }: RunLabels): number | null {
  return stale === null ? null : stale + (lost ?? 0);
}

async function readStages({ db }: Context, before: GoldenRun, now: GoldenRun) {
  if (before.stages === null || now.stages === null) return null;
  return { before: await db.golden.runs.stages(before.id), now: await db.golden.runs.stages(now.id) };
}
