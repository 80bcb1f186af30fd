/**
 * Finds the golden runs for a diagnosis: the run that shows the fault, the last good run, and the runs between and
 * before these two.
 */

import { isRegression, type RegressionCheck } from '../../checks/rules/regression.ts';
import { isBreach } from '../../checks/rules/threshold.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS, type TimeSpan } from '../../core/time.ts';
import type { MissingLabel } from '../../golden/rules/labels.ts';
import { ERRORS_SHARE, failedShare, type GoldenRun } from '../../golden/rules/run.ts';
import type { RunMetricKey } from '../../golden/rules/score-run.ts';
import { readComparedSide, readForbiddenResults } from '../../golden/runs/stored-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { allOf } from './all-of.ts';
import type { LiveList } from './rules/foreign-lists.ts';
import type { Alert } from './rules/incident.ts';
import {
  type ObservedLabels,
  type ObservedLevel,
  type ObservedRun,
  observedRun,
  type RunsSeen,
} from './rules/observations.ts';

/** Maximum number of runs searched for a good run: two days of an hourly golden set. */
const MAX_SEARCHED = 48;

/**
 * Finds the golden set that has the worst alert, and returns the latest finished run of this set. If no golden set has
 * an alert, uses the first golden set.
 */
export async function latestEnded(
  { db }: Context,
  { name: pipeline, golden }: WatchedPipeline,
  alerts: readonly Alert[],
): Promise<GoldenRun | null> {
  const goldenSet = alerts.find((alert) => alert.goldenSet !== null)?.goldenSet ?? golden[0]?.set;
  if (goldenSet === undefined) return null;
  // Reads each status separately; otherwise, many unfinished runs could hide the finished ones.
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

interface ReferenceCriteria {
  readonly regressions: readonly RegressionCheck[];
  /** Time span of the first bad measurement behind the firing alerts; null if only golden runs show the fault. */
  readonly firstBad: TimeSpan | null;
  /** Reference run of the open incident, unchanged while the incident is open; null for a new incident. */
  readonly known: string | null;
}

/**
 * Finds the last good run before the first bad measurement. A verdict needs confirmation, so the first failing verdict
 * may come later than the first bad measurement. Therefore, a run that already shows the regression, or that ended
 * after the first bad measurement, is not a reference run.
 */
export async function findReferenceRun(
  context: Context,
  run: GoldenRun,
  { regressions, firstBad, known }: ReferenceCriteria,
): Promise<ReferenceRuns> {
  const { pipeline, goldenSet } = run;
  const kept = known === null ? null : await context.db.golden.runs.find(known);
  const earlier = { pipeline, goldenSet, status: 'completed', before: run, limit: MAX_SEARCHED } as const;
  const runs = await context.db.golden.runs.list(earlier);
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
  const hasRegressed = (check: RegressionCheck): boolean =>
    differences.some((one) => check.measure === `${one.key.measure}@${one.key.k}` && isRegression(check, one));
  return (
    !checks.some(({ verdict }) => isBreach(verdict)) &&
    failedShare(outcomes) < ERRORS_SHARE &&
    !regressions.some(hasRegressed)
  );
}

/**
 * Positions of the earlier runs that are also compared, in the list of runs before the reference run, newest first.
 * With hourly runs, they are about one hour, seven hours and one day older than the reference run.
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
  const { runs } = context.db.golden;
  const sideOf = (one: GoldenRun | null) =>
    one === null || one.answersDeletedAt !== null ? null : readComparedSide(context, one);
  const [now, side, missing, forbidden] = await Promise.all([
    readComparedSide(context, run),
    sideOf(reference),
    missingDocuments(context, run),
    readForbiddenResults(runs, run),
  ]);
  const seen: RunsSeen = {
    goldenSet: run.goldenSet,
    now,
    ...missing,
    forbidden: forbidden === null ? null : { asked: forbidden.asked, results: forbidden.confirmed.length },
    key,
    level,
    reference:
      reference === null || side === null
        ? null
        : {
            side,
            version: reference.goldenSetVersion,
            isSameVersion: reference.goldenSetVersion === run.goldenSetVersion,
            labels: observedLabels(reference),
            stages:
              reference.stages === null || run.stages === null
                ? null
                : await allOf({ before: runs.stages(reference.id), now: runs.stages(run.id) }),
            contexts: await allOf({ before: runs.contexts(reference.id), now: runs.contexts(run.id) }),
          },
    previous: await sideOf(bad[0] ?? null),
    older: [],
    live: [],
  };
  const found = observedRun(seen);
  if ((found.reference?.answers.kept ?? 1) >= UNCHANGED_SHARE) return found;
  const compared = EARLIER_RUNS.flatMap((place) => earlier[place] ?? []).filter(
    ({ answersDeletedAt }) => answersDeletedAt === null,
  );
  const older = await Promise.all(
    compared.map(async (one) => ({ at: one.startedAt, side: await readComparedSide(context, one) })),
  );
  const live = reference === null ? [] : await liveLists(context, run.pipeline, reference.startedAt);
  return observedRun({ ...seen, older, live });
}

const LIVE_LISTS = 2000;

/** Reads the results of the newest live queries from the two days before `until`. */
function liveLists({ db }: Context, pipeline: string, until: Date): Promise<readonly LiveList[]> {
  return db.live.samples.newest({ pipeline, since: new Date(until.getTime() - 2 * DAY_MS), until, limit: LIVE_LISTS });
}

/**
 * Returns the judged documents that the run did not find in the store, and their queries. A document also counts as
 * deleted if recalld learned of its deletion from the manifest only after the run.
 */
async function missingDocuments(
  { db: { golden } }: Context,
  run: GoldenRun,
): Promise<Pick<RunsSeen, 'labels' | 'stale' | 'lost'>> {
  const [stale, lost] = await Promise.all([golden.runs.staleLabels(run.id), golden.runs.lostLabels(run.id)]);
  const lostIds = [...new Set(lost.map(({ documentId }) => documentId))];
  const deleted = await golden.documents.withdrawn(run.pipeline, lostIds);
  const labels = observedLabels(run);
  return {
    labels: labels && {
      ...labels,
      stale: labels.stale + deleted.size,
      deleted: labels.deleted + deleted.size,
      lost: labels.lost - deleted.size,
    },
    stale: queriesOf([...stale, ...lost.filter(({ documentId }) => deleted.has(documentId))]),
    lost: queriesOf(lost.filter(({ documentId }) => !deleted.has(documentId))),
  };
}

function queriesOf(labels: readonly MissingLabel[]): ReadonlySet<string> {
  return new Set(labels.map(({ queryId }) => queryId));
}

function observedLabels({ labels: { probed, stale, deleted, lost } }: GoldenRun): ObservedLabels | null {
  return probed === null || stale === null ? null : { probed, stale, deleted: deleted ?? 0, lost: lost ?? 0 };
}
