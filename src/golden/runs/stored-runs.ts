import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { formatMetricKey, parseMetricKey } from '../../math/ir/metric-key.ts';
import {
  type BaselineStatistics,
  type ComparedSide,
  noStatistics,
  type RunDifference,
  sharedQueries,
} from '../rules/compare-golden-runs.ts';
import { compareMany } from '../rules/compare-runs.ts';
import type { ForbiddenResults } from '../rules/forbidden-results.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import { changedQueries } from '../rules/listed-queries.ts';
import { BATCH_QUERIES, type GoldenRun, type QueryAnswer, type RunSettings } from '../rules/run.ts';
import {
  answersByDocument,
  goldenMeasures,
  measuresOf,
  queriesByDocument,
  runMetricKeys,
  scoreQueries,
} from '../rules/score-run.ts';
import type { ComparisonSettings } from '../rules/verdict.ts';
import type { GoldenBaseline } from '../sql/golden-baselines.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';

/**
 * Compares two runs, using only the queries that both set versions contain and that are not in `stale`.
 *
 * @param side the queries of the candidate and their results; if null, they are read from the database
 * @returns null if the runs share no query or no cutoff, or if the results of the baseline were deleted
 */
export async function compareStoredRuns(
  context: Context,
  baseline: GoldenRun,
  candidate: GoldenRun,
  stale: ReadonlySet<string>,
  known: BaselineStatistics,
  signal: AbortSignal,
  side: ComparedSide | null = null,
): Promise<RunDifference[] | null> {
  if (baseline.answersDeletedAt !== null) return null;
  const after = side ?? (await readComparedSide(context, candidate));
  const before = await readOtherSide(context, baseline, candidate, after);
  return context.statistics.compareRuns(before, after, stale, known, signal);
}

/**
 * Reads the other side of a comparison with `run`. If both runs have the same set version, takes the queries from
 * `side`.
 */
export async function readOtherSide(
  context: Context,
  other: GoldenRun,
  run: GoldenRun,
  side: ComparedSide,
): Promise<ComparedSide> {
  const isSameVersion =
    other.goldenSet === run.goldenSet && other.goldenSetVersion === run.goldenSetVersion && other.queryIds === null;
  return isSameVersion
    ? { queries: side.queries, answers: await answersAsIn(context, run, other), settings: other.settings }
    : readComparedSide(context, { ...other, settings: withNamingOf(run, other) });
}

/** Reads the noise and the means of a pinned run, to compare a run that ended at the time `at` with it. */
export async function readBaselineStatistics(
  { db }: Context,
  { noise }: GoldenBaseline,
  baseline: GoldenRun,
  at: Date,
): Promise<BaselineStatistics> {
  const means = await db.golden.baselines.means(baseline.id);
  return means === null
    ? { ...noStatistics, noise }
    : { noise, means, accepted: await db.golden.runs.accepted(baseline, at) };
}

/**
 * Reads the judged queries of a run, and their results.
 *
 * @throws RecalldError answers_deleted
 */
export async function readComparedSide(context: Context, run: GoldenRun): Promise<ComparedSide> {
  const [queries, answers] = await Promise.all([
    queriesOfRun(context.db.golden.sets, run),
    answersAsIn(context, run, run),
  ]);
  return { queries: judgedQueries(queries), answers, settings: run.settings };
}

/**
 * Throws if the results of the run were deleted. Callers must call this function before they read results, because
 * deleted results look like empty results.
 *
 * @throws RecalldError answers_deleted
 */
export function assertAnswers(run: GoldenRun): void {
  if (run.answersDeletedAt !== null) throw new RecalldError('answers_deleted', describeDeletedAnswers(run));
}

export function describeDeletedAnswers({ id, startedAt }: GoldenRun): string {
  const day = startedAt.toISOString().slice(0, 10);
  return `The results of the run ${id} from ${day} were deleted after the retention time (golden[].keep_answers in the config); the scores are kept. Results of baselines, of runs that incidents refer to, and of the first and last run of each day are kept.`;
}

/**
 * Reads the results of another run, with document ids in the form that this run uses (ids of chunks or of whole
 * documents).
 *
 * @throws RecalldError answers_deleted
 */
export async function answersAsIn(
  { db }: Context,
  { settings: { chunkSeparator } }: GoldenRun,
  other: GoldenRun,
): Promise<readonly QueryAnswer[]> {
  assertAnswers(other);
  const answers = await db.golden.runs.answers(other.id);
  return chunkSeparator === undefined ? answers : answersByDocument(answers, chunkSeparator);
}

function withNamingOf({ settings: { chunkSeparator } }: GoldenRun, { settings }: GoldenRun): RunSettings {
  return chunkSeparator === undefined ? settings : { ...settings, chunkSeparator };
}

/**
 * Returns the forbidden documents that a run returned; null if the set forbids none, or if the run did not test for
 * them.
 */
export async function readForbiddenResults(
  runs: GoldenRuns,
  { id, forbidden }: GoldenRun,
): Promise<ForbiddenResults | null> {
  return forbidden === null ? null : { ...forbidden, confirmed: await runs.forbidden(id) };
}

export async function queriesOfRun(sets: GoldenSets, run: GoldenRun): Promise<readonly GoldenQuery[]> {
  const { goldenSet, goldenSetVersion, queryIds, settings } = run;
  const queries = await sets.queries(goldenSet, goldenSetVersion, queryIds === null ? null : { ids: queryIds });
  return settings.chunkSeparator === undefined ? queries : queriesByDocument(queries, settings.chunkSeparator);
}

export function queriesOfBatch(sets: GoldenSets, run: GoldenRun, batch: number): Promise<readonly GoldenQuery[]> {
  const { goldenSet, goldenSetVersion, queryIds } = run;
  const from = batch * BATCH_QUERIES;
  const to = from + BATCH_QUERIES;
  const selection = queryIds === null ? { from, to } : { ids: queryIds.slice(from, to) };
  return sets.queries(goldenSet, goldenSetVersion, selection);
}

export type RunsCompared = Awaited<ReturnType<typeof compareRunsById>>;

/**
 * Compares two completed runs, using only the queries that have no stale labels in the second run. If the first run is
 * a pinned baseline, accounts for the retriever noise that is stored with the baseline.
 *
 * @param measure the metric by which the changed queries are sorted, such as `ndcg@10`
 * @param extent `computed`: compares all segments, which takes seconds. `as_stored`: uses the comparison of the two
 *   runs that is stored with the second run; if none is stored, compares all queries, without segments.
 * @throws RecalldError run_unknown, run_not_completed, answers_deleted, runs_not_comparable, metric_unknown
 */
export async function compareRunsById(
  context: Context,
  baselineId: string,
  candidateId: string,
  measure: string | null,
  extent: 'computed' | 'as_stored',
  signal: AbortSignal,
) {
  const [baseline, candidate] = await Promise.all([
    findCompleted(context, baselineId),
    findCompleted(context, candidateId),
  ]);
  const stale = new Set((await context.db.golden.runs.staleLabels(candidate.id)).map(({ queryId }) => queryId));
  const comparisons = extent === 'as_stored' ? await context.db.golden.runs.comparisons(candidate.id) : [];
  const stored = comparisons.find(({ against }) => against === baseline.id)?.differences;
  const differences = stored ?? (await computeDifferences(context, baseline, candidate, stale, extent, signal));
  if (differences === null) {
    throw new RecalldError(
      'runs_not_comparable',
      `The runs ${baselineId} and ${candidateId} have no common cutoff, or no common query without stale labels.`,
    );
  }
  const [before, after] = await Promise.all([
    readComparedSide(context, baseline),
    readComparedSide(context, candidate),
  ]);
  const key = keyOf(measure ?? `ndcg@${Math.max(...candidate.settings.cutoffs)}`);
  return {
    against: baseline.id,
    differences,
    baseline,
    candidate,
    measure: formatMetricKey(key),
    /** Changed queries, most regressed first. */
    queries: changedQueries(before, after, stale, key),
  };
}

async function computeDifferences(
  context: Context,
  baseline: GoldenRun,
  candidate: GoldenRun,
  stale: ReadonlySet<string>,
  extent: 'computed' | 'as_stored',
  signal: AbortSignal,
): Promise<readonly RunDifference[] | null> {
  const pinned = await context.db.golden.baselines.pinned(baseline.pipeline, baseline.goldenSet);
  const known =
    pinned?.runId === baseline.id
      ? await readBaselineStatistics(context, pinned, baseline, candidate.finishedAt ?? candidate.startedAt)
      : noStatistics;
  const { segmentKeys } = candidate.settings;
  const settings = { ...candidate.settings, segmentKeys: extent === 'computed' ? segmentKeys : [] };
  return compareStoredRuns(context, baseline, { ...candidate, settings }, stale, known, signal);
}

function keyOf(measure: string) {
  const key = parseMetricKey(measure);
  if (key.k !== null) return { ...key, k: key.k };
  throw new RecalldError('metric_unknown', `The metric "${measure}" has no cutoff. Write it as ${measure}@10.`);
}

/** @throws RecalldError run_unknown */
export async function findRun(runs: GoldenRuns, id: string): Promise<GoldenRun> {
  const run = await runs.find(id);
  if (run !== null) return run;
  const hint = '`recalld runs list` and GET /v1/golden-runs list the existing runs.';
  throw new RecalldError('run_unknown', `There is no golden run ${id}. ${hint}`);
}

/**
 * Returns a completed run whose results still exist.
 *
 * @throws RecalldError run_unknown, run_not_completed, answers_deleted
 */
export async function findCompleted({ db }: Context, id: string): Promise<GoldenRun> {
  const run = await findRun(db.golden.runs, id);
  if (run.status !== 'completed') {
    const message = `The run ${id} is ${run.status}; only a completed run has scores to compare with.`;
    throw new RecalldError('run_not_completed', message);
  }
  assertAnswers(run);
  return run;
}

/**
 * Compares all measures of the queries, at the largest cutoff that all runs have; nDCG decides the verdict. Excludes
 * queries with a stale label in any of the runs. If one run is compared by document instead of by chunk, all runs are
 * compared by document.
 *
 * @throws RecalldError run_unknown, run_not_completed, runs_not_comparable
 */
export async function compareManyRuns(context: Context, ids: readonly string[], settings: ComparisonSettings) {
  const runs: GoldenRun[] = [];
  for (const id of ids) runs.push(await findCompleted(context, id));
  const separator = runs.find((run) => run.settings.chunkSeparator !== undefined)?.settings.chunkSeparator;
  const naming = separator === undefined ? {} : { chunkSeparator: separator };
  const sides: ComparedSide[] = [];
  const stale = new Set<string>();
  for (const run of runs) {
    sides.push(await readComparedSide(context, { ...run, settings: { ...run.settings, ...naming } }));
    for (const { queryId } of await context.db.golden.runs.staleLabels(run.id)) stale.add(queryId);
  }
  const shared = sides.map(({ queries }) => queries).reduce((before, after) => sharedQueries(after, before));
  const queries = shared.filter(({ id }) => !stale.has(id));
  const [first] = sides;
  const cutoffs = (first?.settings.cutoffs ?? []).filter((k) =>
    sides.every(({ settings: asked }) => asked.cutoffs.includes(k)),
  );
  if (first === undefined || queries.length === 0 || cutoffs.length === 0) {
    const message = `The runs ${ids.join(', ')} have no common cutoff, or no common query without stale labels.`;
    throw new RecalldError('runs_not_comparable', message);
  }
  const computed = measuresOf(queries);
  const others = goldenMeasures.filter((measure) => measure !== 'ndcg' && computed.includes(measure));
  const measures = ['ndcg', ...others] as const;
  const by = { cutoffs: [Math.max(...cutoffs)], relevanceLevel: first.settings.relevanceLevel, measures };
  const columns = sides.map(({ answers }) => scoreQueries(queries, answers, by).columns);
  return { runs, compared: compareMany(runMetricKeys(by.cutoffs, measures), columns, settings) };
}
