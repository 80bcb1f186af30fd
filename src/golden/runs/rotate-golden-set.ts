/** Runs a new version of a set alongside the old one until the new version can take over without changing verdicts. */

import {
  evaluateGoldenRun,
  type GoldenCheck,
  goldenCheckName,
  historyNeeded,
  ofKind,
} from '../../checks/rules/golden-checks.ts';
import type { ComparedWithBaseline } from '../../checks/rules/regression.ts';
import { addShifts, type CheckResult, type CheckShifts, worstVerdict } from '../../checks/rules/threshold.ts';
import type { Context } from '../../core/context.ts';
import { decimal } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import type { TraitChange } from '../../live/deployments/rules/deployment.ts';
import { toCompared } from '../rules/compare-golden-runs.ts';
import { type GoldenSetVersion, judgedQueries } from '../rules/golden-set.ts';
import {
  describeLevels,
  type Levels,
  type OverlapPair,
  overlapLevels,
  restoredQueries,
  rotationShifts,
} from '../rules/rotation.ts';
import type { GoldenRun, SegmentScore } from '../rules/run.ts';
import type { GoldenRotation, GoldenRotations } from '../sql/golden-rotations.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import type { GoldenSchedule, WatchedPipeline } from '../watched-pipeline.ts';
import { answersAsIn, queriesOfRun, readForbiddenResults } from './stored-runs.ts';

/**
 * Returns the versions of a set to run at a tick. During a rotation, these are the version whose scores are exported
 * and the latest version, in this order; otherwise, only the latest version. If the set has a schedule, a version
 * without a completed run on the pipeline begins a rotation. Without a schedule, the rotation would never end.
 */
export async function versionsToRun(
  context: Context,
  pipeline: string,
  { set, cron, rotationRuns }: GoldenSchedule,
  latest: GoldenSetVersion,
): Promise<readonly number[]> {
  const open = await context.db.golden.rotations.open(pipeline, set);
  if (cron === null || rotationRuns === 0) {
    if (open !== null) await context.db.golden.rotations.complete(open.id, context.clock.now(), {}, {}, null);
    return [latest.version];
  }
  const [last] = await context.db.golden.runs.list({ pipeline, goldenSet: set, status: 'completed', limit: 1 });
  const from = open?.fromVersion ?? last?.goldenSetVersion;
  if (from === undefined || from >= latest.version) return [latest.version];
  const { fromVersion, toVersion } = await context.db.golden.rotations.begin({
    pipeline,
    goldenSet: set,
    fromVersion: from,
    toVersion: latest.version,
    runsNeeded: rotationRuns,
    startedAt: context.clock.now(),
  });
  return [fromVersion, toVersion];
}

/** Returns the threshold shift of each check: the sum over the completed rotations up to the run's set version. */
export async function readCheckShifts(
  rotations: GoldenRotations,
  { pipeline, goldenSet, goldenSetVersion }: GoldenRun,
): Promise<CheckShifts> {
  const all = await rotations.list({ pipeline, goldenSet });
  return checkShiftsAt(all, goldenSetVersion);
}

/** Like `readCheckShifts`, but takes all rotations of the pipeline and set from the caller. */
export function checkShiftsAt(rotations: readonly GoldenRotation[], version: number): CheckShifts {
  const done = rotations.filter(({ outcome, toVersion }) => outcome === 'completed' && toVersion <= version);
  return addShifts(done.map(({ shifts }) => shifts));
}

/** Maximum number of completed runs that are read per version; no value of `rotation_runs` requires more. */
const MAX_PAIRS = 100;

/**
 * Returns, newest first, a pair of runs for each tick whose runs of both versions completed. Includes a tick only if
 * the verdict of the stale-labels checks on the new version is `ok` or the same as on the old version, because a
 * version with worse labels must not take over.
 */
export async function overlappingRuns(
  runs: GoldenRuns,
  { pipeline, goldenSet, fromVersion, toVersion }: GoldenRotation,
  checks: readonly GoldenCheck[],
) {
  const completed = (version: number) =>
    runs.list({ pipeline, goldenSet, version, status: 'completed', limit: MAX_PAIRS });
  const [before, after] = await Promise.all([completed(fromVersion), completed(toVersion)]);
  const byTick = new Map(before.map((run) => [run.scheduledFor?.getTime() ?? Number.NaN, run]));
  const pairs = after.flatMap((to) => {
    const from = to.scheduledFor === null ? undefined : byTick.get(to.scheduledFor.getTime());
    return from === undefined ? [] : [{ from, to }];
  });
  const names = new Set(ofKind(checks, 'stale_labels').map((check) => goldenCheckName(check, goldenSet)));
  if (names.size === 0) return pairs;
  const stale = async ({ id }: GoldenRun): Promise<Verdict> =>
    worstVerdict((await runs.checks(id)).filter(({ name }) => names.has(name)).map(({ verdict }) => verdict));
  const verdicts = await Promise.all(pairs.map(({ from, to }) => Promise.all([stale(from), stale(to)])));
  return pairs.filter((_, index) => {
    const [old, fresh] = verdicts[index] ?? ['ok', 'ok'];
    return fresh === 'ok' || fresh === old;
  });
}

/**
 * Lets the new version take over once the runs of both versions have completed at enough ticks. From then on, the
 * scores of the new version are exported. Thresholds shift with the mean score of the set, so that the verdicts on an
 * unchanged retriever stay the same. Changed judgments and edited texts of the same queries do not shift thresholds,
 * because such a shift would hide a faulty import. The change is recorded as a deployment, with the mean scores of both
 * versions on the overlapping runs.
 */
export async function advanceRotation(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
): Promise<void> {
  const rotation = await context.db.golden.rotations.open(run.pipeline, run.goldenSet);
  if (rotation === null) return;
  const pairs = await overlappingRuns(context.db.golden.runs, rotation, pipeline.checks);
  const [last] = pairs;
  if (last === undefined || pairs.length < rotation.runsNeeded) return;
  const scores: OverlapPair[] = [];
  const judgedAlike: OverlapPair[] = [];
  for (const { from, to } of pairs.slice(0, rotation.runsNeeded)) {
    const pair = {
      from: await context.db.golden.runs.scores(from.id),
      to: await context.db.golden.runs.scores(to.id),
    };
    scores.push(pair);
    judgedAlike.push({ ...pair, to: (await scoresAsBefore(context, from, to, signal)) ?? pair.to });
  }
  const levels = overlapLevels(scores);
  const [from, to] = await Promise.all([
    readBaselineComparison(context.db.golden.runs, last.from),
    readBaselineComparison(context.db.golden.runs, last.to),
  ]);
  const shifts = rotationShifts(pipeline.checks, rotation.goldenSet, judgedAlike, from, to);
  const earlier = await readCheckShifts(context.db.golden.rotations, last.to);
  const checks = await reevaluateChecks(context.db.golden.runs, pipeline.checks, last, addShifts([earlier, shifts]));
  const endedAt = context.clock.now();
  const evaluated = { runId: last.to.id, checks };
  if (!(await context.db.golden.rotations.complete(rotation.id, endedAt, levels, shifts, evaluated))) return;
  const key = `ndcg@${Math.max(...last.to.settings.cutoffs)}`;
  const note = `Version ${rotation.toVersion} of ${rotation.goldenSet} took over from version ${rotation.fromVersion}. ${describeLevels(levels, key)}`;
  context.logger.info('a new version of a golden set replaced the old version', {
    pipeline: rotation.pipeline,
    golden_set: rotation.goldenSet,
    note,
  });
  await context.db.live.deployments.detect(
    {
      pipeline: rotation.pipeline,
      kind: 'golden',
      version: `${rotation.goldenSet} v${rotation.toVersion}`,
      note,
      occurredAt: endedAt,
    },
    changesOf(rotation, levels),
  );
}

/**
 * Scores the new version with the old judgments of the queries that both versions contain, and with the old results of
 * the queries whose texts were edited; null if the new version changed neither.
 */
async function scoresAsBefore(
  context: Context,
  from: GoldenRun,
  to: GoldenRun,
  signal: AbortSignal,
): Promise<readonly SegmentScore[] | null> {
  const [before, after] = await Promise.all([from, to].map((run) => queriesOfRun(context.db.golden.sets, run)));
  const { goldenSet, goldenSetVersion } = from;
  const texts = await context.db.golden.sets.editedTexts(goldenSet, goldenSetVersion, to.goldenSetVersion);
  const edited = new Set(texts.map(({ id }) => id));
  const queries = restoredQueries(judgedQueries(before ?? []), judgedQueries(after ?? []), edited);
  if (queries === null || to.answersDeletedAt !== null) return null;
  if (edited.size > 0 && from.answersDeletedAt !== null) return null;
  const old = edited.size === 0 ? [] : await answersAsIn(context, to, from);
  const latest = await answersAsIn(context, to, to);
  const answers = [
    ...old.filter(({ queryId }) => edited.has(queryId)),
    ...latest.filter(({ queryId }) => !edited.has(queryId)),
  ];
  return (await context.statistics.scoreRun(queries, answers, to.settings, new Set(), signal)).scores;
}

async function readBaselineComparison(runs: GoldenRuns, { id }: GoldenRun): Promise<ComparedWithBaseline | null> {
  const baseline = (await runs.comparisons(id)).find(({ kind }) => kind === 'baseline');
  return baseline === undefined ? null : toCompared(id, baseline);
}

/**
 * Reads the latest baseline comparisons that the checks need, oldest first, and the checks of the last compared run.
 */
export async function readCheckHistory(
  runs: GoldenRuns,
  checks: readonly GoldenCheck[],
  { pipeline, goldenSet, goldenSetVersion }: GoldenRun,
) {
  const needed = historyNeeded(checks);
  const history = needed === 0 ? [] : await runs.comparedWithBaseline(pipeline, goldenSet, goldenSetVersion, needed);
  const last = history.at(-1);
  return { history, before: last === undefined ? [] : await runs.checks(last.runId) };
}

/** Evaluates the checks again, with the shifted thresholds, for the run whose scores are exported next. */
async function reevaluateChecks(
  runs: GoldenRuns,
  checks: readonly GoldenCheck[],
  { from, to }: Awaited<ReturnType<typeof overlappingRuns>>[number],
  shifts: CheckShifts,
): Promise<CheckResult[]> {
  const { goldenSet } = to;
  const [before, scores, compared, forbidden] = await Promise.all([
    runs.checks(to.id),
    runs.scores(to.id),
    readBaselineComparison(runs, to),
    readForbiddenResults(runs, to),
  ]);
  const { history, before: previous } = await readCheckHistory(runs, checks, from);
  const labels = { kind: 'unknown', reason: '' } as const;
  const evaluated = evaluateGoldenRun(checks, goldenSet, {
    scores,
    compared: compared ?? '',
    history,
    before: previous,
    labels,
    forbidden,
    shifts,
  });
  // Checks that depend on neither scores nor a comparison keep their verdicts.
  return evaluated.map((check) =>
    check.verdict === 'no_data' ? (before.find(({ name }) => name === check.name) ?? check) : check,
  );
}

const shownMeasures: ReadonlySet<string> = new Set(['ndcg', 'mrr', 'recall', 'hit_rate']);

function changesOf({ fromVersion, toVersion }: GoldenRotation, levels: Levels): TraitChange[] {
  const shown = Object.entries(levels).filter(([key]) => shownMeasures.has(key.split('@')[0] ?? ''));
  return [
    { trait: 'version', before: String(fromVersion), after: String(toVersion) },
    ...shown.map(([trait, { from, to }]) => ({ trait, before: decimal(from), after: decimal(to) })),
  ];
}
