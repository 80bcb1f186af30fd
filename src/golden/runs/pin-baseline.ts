import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { chooseCleanRuns, MIN_CLEAN_RUNS } from '../rules/clean-runs.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import type { GoldenRun, QueryAnswer } from '../rules/run.ts';
import type { Reruns } from '../rules/run-noise.ts';
import { assertAnswers } from './stored-runs.ts';

export interface PinRequest {
  readonly note: string | null;
  /** Reruns that were made for this pin; null to use the runs just before the pinned run. */
  readonly reruns: readonly GoldenRun[] | null;
  readonly by: string;
  readonly now: Date;
  /** Pins the run even if some of its queries failed; failed queries count as 0 in the baseline. */
  readonly withFailures?: boolean;
}

/**
 * Pins a completed run, and stores the noise of its retriever, which is measured only on clean runs
 * (`chooseCleanRuns`). With fewer than three clean runs, the noise remains unknown.
 *
 * @throws RecalldError baseline_has_failures if queries of the run failed and `withFailures` is false; answers_deleted
 *   if the results of the run were deleted, because later runs could not be compared with deleted results
 */
export async function pinRun(
  context: Context,
  run: GoldenRun,
  { note, reruns, by, now, withFailures = false }: PinRequest,
  signal: AbortSignal,
) {
  assertAnswers(run);
  const { id: runId, pipeline, goldenSet } = run;
  const others = reruns ?? (await earlierReruns(context, run));
  const [own, ...facts] = await context.db.golden.runs.facts([run, ...others], run);
  if (own === undefined) throw new RecalldError('run_unknown', `The golden run ${runId} no longer exists.`);
  if (own.failed > 0 && !withFailures) {
    throw new RecalldError(
      'baseline_has_failures',
      `${own.failed} of ${run.queriesTotal} queries in run ${runId} failed or timed out. In a baseline, failed queries count as 0, ` +
        'which hides later failures of the same queries. Pin a run without failures, or use --with-failures.',
    );
  }
  const { kept, excluded } = chooseCleanRuns(own, facts, reruns !== null);
  const clean = [run, ...others.filter(({ id }) => kept.includes(id))];
  const measured = clean.length < MIN_CLEAN_RUNS ? [run] : clean;
  const { noise, means } = await measureNoise(context, measured, signal);
  const pin = { pipeline, goldenSet, runId, note, noise, pinnedAt: now };
  await context.db.golden.baselines.pin(pin, by, means, excluded);
  const isDeterministic = Object.values(noise).every((metrics) =>
    Object.values(metrics).every(({ isConstant }) => isConstant),
  );
  return {
    baseline: { ...pin, excludedRuns: excluded, unpinnedAt: null },
    /** Number of runs in the noise measurement, including the pinned run; 1 if the noise is unknown. */
    runs: measured.length,
    isDeterministic,
    /** Warnings for the person who pins the run, one sentence each; empty for a clean run. */
    warnings: [
      ...(own.failed > 0 ? [`${own.failed} of ${run.queriesTotal} queries of this run failed; they count as 0.`] : []),
      ...own.failedChecks.map((name) => `This run failed the check ${name}.`),
      ...own.incidents.map((id) => `Incident ${id} was open during this run.`),
    ],
  };
}

/** @throws RecalldError baseline_unknown if no baseline is pinned */
export async function unpin({ db }: Context, pipeline: string, set: string, by: string, now: Date): Promise<void> {
  if (!(await db.golden.baselines.unpin(pipeline, set, by, now))) {
    throw new RecalldError(
      'baseline_unknown',
      `No baseline is pinned for ${set} on ${pipeline}. \`recalld baselines list\` shows the pinned runs.`,
    );
  }
}

/**
 * Maximum number of earlier runs in the noise measurement. With the pinned run, the measurement has at most ten runs,
 * the number for which regression checks are calibrated.
 */
const MAX_EARLIER_RUNS = 9;

/**
 * @param runs golden runs of one version of one set
 * @returns no noise and no means if there are fewer than two runs
 */
async function measureNoise(
  { db, statistics }: Context,
  runs: readonly GoldenRun[],
  signal: AbortSignal,
): Promise<Reruns> {
  const [first] = runs;
  if (first === undefined || runs.length < 2) return { noise: {}, means: null };
  const queries = judgedQueries(await db.golden.sets.queries(first.goldenSet, first.goldenSetVersion));
  const answers: (readonly QueryAnswer[])[] = [];
  for (const { id } of runs) answers.push(await db.golden.runs.answers(id));
  return statistics.measureReruns(queries, answers, first.settings, signal);
}

/**
 * Returns up to nine completed runs just before this run, newest first. Stops at the first run whose queries, settings,
 * store or model differ, or whose results were deleted.
 */
async function earlierReruns({ db }: Context, run: GoldenRun): Promise<GoldenRun[]> {
  const { pipeline, goldenSet } = run;
  const before = await db.golden.runs.list({
    pipeline,
    goldenSet,
    status: 'completed',
    before: run,
    limit: MAX_EARLIER_RUNS,
  });
  const other = before.findIndex((one) => !isSameSetting(one, run));
  return other === -1 ? [...before] : before.slice(0, other);
}

function isSameSetting(a: GoldenRun, b: GoldenRun): boolean {
  return (
    a.answersDeletedAt === null &&
    a.goldenSetVersion === b.goldenSetVersion &&
    JSON.stringify(a.settings.cutoffs) === JSON.stringify(b.settings.cutoffs) &&
    a.settings.relevanceLevel === b.settings.relevanceLevel &&
    ['index', 'embedder'].every((part) => a.fingerprints[part] === b.fingerprints[part])
  );
}
