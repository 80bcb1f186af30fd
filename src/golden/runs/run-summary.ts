import { isBlind } from '../../checks/rules/regression.ts';
import { worstVerdict } from '../../checks/rules/threshold.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT, type GoldenQuery, type QueryOutcome, type Verdict } from '../../core/model.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import { toWire } from '../../platform/http/wire.ts';
import type { StoredComparison } from '../rules/compare-golden-runs.ts';
import { falseAnswerRatio } from '../rules/forbidden-results.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import { type ListedQuery, listQueries, type QueryView } from '../rules/listed-queries.ts';
import type { GoldenRun, NoAnswerResults, QueryAnswer, SegmentScore } from '../rules/run.ts';
import { describeFailure } from '../rules/run-failure.ts';
import { type RunMetricKey, scoreQueries, scoresBy } from '../rules/score-run.ts';
import { type RunSummaryJson, runSummarySchema } from '../run-summary-schema.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import { comparedJson } from './comparison-json.ts';
import { metricsOf } from './score-json.ts';
import { answersAsIn, queriesOfRun, readComparedSide, readOtherSide } from './stored-runs.ts';

/** Schema of the fields of the run itself. Comparisons are computed only when a caller reads them. */
const ownSummarySchema = runSummarySchema.omit({ baseline: true, deployment: true });
const scoresSchema = runSummarySchema.pick({ metrics: true, segments: true });

export async function summarizeRun(runs: GoldenRuns, run: GoldenRun): Promise<RunSummaryJson> {
  const [scores, checks, outcomes, failure, comparisons, forbidden] = await Promise.all([
    runs.scores(run.id),
    runs.checks(run.id),
    runs.outcomes(run.id),
    runs.failure(run.id),
    runs.comparisons(run.id),
    runs.forbidden(run.id),
  ]);
  const against = (kind: StoredComparison['kind']) => {
    const found = comparisons.find((comparison) => comparison.kind === kind);
    return found === undefined ? null : comparedJson(found);
  };
  return {
    ...toWire(ownSummarySchema, {
      ...run,
      runId: run.id,
      provisional: run.status === 'running',
      queries: { total: run.queriesTotal, ...outcomes, stale: run.labels.deadQueries },
      failure: failure && { ...failure, explanation: describeFailure(failure) },
      metrics: metricsOf(scores),
      segments: segmentsOf(scores),
      labels: { ...run.labels, reason: run.labels.gap },
      forbidden: forbidden.map(({ queryId, documentId, rank }) => ({ query: queryId, document: documentId, rank })),
      noAnswer: run.noAnswer && withRatio(run.noAnswer),
      checks: checks.map((check) => ({ smallestDetectableDrop: null, ...check, blind: isBlind(check) })),
      verdict: verdictOf(run, checks),
    }),
    baseline: against('baseline'),
    deployment: against('deployment'),
  };
}

function withRatio(results: NoAnswerResults) {
  const { value, ...bounds } = falseAnswerRatio(results);
  return { ...results, ...bounds, falseAnswerRatio: value };
}

/** Like `summarizeRun`, but also returns the scores so far if the run is in progress. */
export async function summarizeRunSoFar(
  context: Context,
  run: GoldenRun,
  signal: AbortSignal,
): Promise<RunSummaryJson> {
  const { db, statistics } = context;
  const summary = await summarizeRun(db.golden.runs, run);
  if (run.status !== 'running') return summary;
  const [queries, answers] = await Promise.all([queriesOfRun(db.golden.sets, run), answersAsIn(context, run, run)]);
  const answered = new Set(answers.map(({ queryId }) => queryId));
  const known = judgedQueries(queries).filter(({ id }) => answered.has(id));
  if (known.length === 0) return summary;
  const { scores } = await statistics.scoreRun(known, answers, run.settings, new Set(), signal);
  return { ...summary, ...toWire(scoresSchema, { metrics: metricsOf(scores), segments: segmentsOf(scores) }) };
}

function segmentsOf(scores: readonly SegmentScore[]) {
  const segments = [...new Set(scores.map(({ segment }) => segment))].filter((name) => name !== ALL_SEGMENT);
  return Object.fromEntries(segments.map((segment) => [segment, metricsOf(scores, segment)]));
}

/** A run without valid scores has no verdict, whatever its checks report. */
export function verdictOf({ status }: GoldenRun, checks: readonly { readonly verdict: Verdict }[]): Verdict {
  return status === 'completed' ? worstVerdict(checks.map(({ verdict }) => verdict)) : 'no_data';
}

export type RunQuery = Awaited<ReturnType<typeof readRunQueries>>['page'][number];

/**
 * Returns one page of queries, and the total number of queries with this outcome.
 *
 * @param outcome null for all outcomes
 * @param orderBy the metric by which the queries are sorted (lowest score first, ties by id); null for the order of the
 *   set
 * @param from index of the first query of the page
 */
export async function readRunQueries(
  context: Context,
  run: GoldenRun,
  outcome: QueryOutcome | null,
  orderBy: RunMetricKey | null,
  from: number,
  limit: number,
) {
  const [{ queries, answers }, stale] = await Promise.all([
    readComparedSide(context, run),
    context.db.golden.runs.staleLabels(run.id),
  ]);
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  const selected = queries.filter(({ id }) => outcome === null || answerOf.get(id)?.outcome === outcome);
  const ordered = orderBy === null ? selected : lowestScoresFirst(selected, answers, run, orderBy);
  const page = ordered.slice(from, from + limit);
  const { keys, columns } = scoreQueries(page, answers, run.settings);
  return {
    total: ordered.length,
    page: page.map((query, row) => ({
      query,
      /** The results of the query; null until the query has been run. */
      answer: answerOf.get(query.id) ?? null,
      scores: scoresOf(keys, columns, row),
      /** Judged documents that are missing from the store. */
      staleDocuments: stale.flatMap(({ queryId, documentId }) => (queryId === query.id ? [documentId] : [])),
    })),
  };
}

function lowestScoresFirst(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  { settings }: GoldenRun,
  key: RunMetricKey,
): GoldenQuery[] {
  const scores = scoresBy(key, queries, answers, settings.relevanceLevel);
  return queries
    .map((query, row) => ({ query, score: scores[row] ?? 0 }))
    .toSorted((a, b) => a.score - b.score || (a.query.id < b.query.id ? -1 : 1))
    .map(({ query }) => query);
}

/** Returns the scores of one query, keyed by metric key. */
export function scoresOf(
  keys: readonly RunMetricKey[],
  columns: readonly Float64Array[],
  row: number,
): Record<string, number> {
  return Object.fromEntries(keys.map((key, column) => [formatMetricKey(key), columns[column]?.[row] ?? 0]));
}

/**
 * Returns one page of queries, and the total number of queries in the view.
 *
 * @param against the run to compare the queries with; null for no comparison
 * @param key the metric of the listed scores
 * @param from index of the first query of the page
 */
export async function readRunTable(
  context: Context,
  run: GoldenRun,
  against: GoldenRun | null,
  view: QueryView,
  key: RunMetricKey,
  from: number,
  limit: number,
): Promise<{ readonly page: readonly ListedQuery[]; readonly total: number }> {
  const [side, stale] = await Promise.all([readComparedSide(context, run), context.db.golden.runs.staleLabels(run.id)]);
  const staleDocuments = new Map<string, number>();
  for (const { queryId } of stale) staleDocuments.set(queryId, (staleDocuments.get(queryId) ?? 0) + 1);
  const before = against === null ? null : await readOtherSide(context, against, run, side);
  const listed = listQueries(side, before, staleDocuments, view, key);
  return { page: listed.slice(from, from + limit), total: listed.length };
}
