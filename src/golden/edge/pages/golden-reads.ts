/** Reads the data of the pages about golden runs. */
import { ofKind } from '../../../checks/rules/golden-checks.ts';
import { isBreach } from '../../../checks/rules/threshold.ts';
import { type Context, onReplica } from '../../../core/context.ts';
import { RecalldError } from '../../../core/errors.ts';
import type { GoldenQuery } from '../../../core/model.ts';
import type { Incident } from '../../../incidents/diagnosis/rules/incident.ts';
import { wordsOfDocuments } from '../../../incidents/explain/answers.ts';
import { explainRun } from '../../../incidents/explain/explain-run.ts';
import type { Deployment } from '../../../live/deployments/rules/deployment.ts';
import { formatMetricKey, isUnionMeasure } from '../../../math/ir/metric-key.ts';
import { pageOf, type Query } from '../../../report/console/http/visit.ts';
import type { TimeRange } from '../../../report/console/links.ts';
import { showsTextOf } from '../../../report/console/shows-text.ts';
import { readStatus } from '../../../report/status/read-status.ts';
import { type ListedQuery, queryViews } from '../../rules/listed-queries.ts';
import type { GoldenRun } from '../../rules/run.ts';
import {
  answersByDocument,
  queriesByDocument,
  runMeasures,
  runMetricKeys,
  scoreQueries,
} from '../../rules/score-run.ts';
import { readRunTable } from '../../runs/run-summary.ts';
import type { GoldenRuns } from '../../sql/golden-runs.ts';
import type { WatchedPipeline } from '../../watched-pipeline.ts';
import { findRun, summarizeAnyRun } from '../golden-routes.ts';
import { charted, type GoldenPageData } from './golden-page.ts';
import type { QueryPageData, QuerySide } from './query-sides.ts';
import type { QueryRow, QueryTableData } from './query-table.ts';
import { chartedOfRun, QUERIES_EXPLAINED, type RunPageData } from './run-page.ts';

const PAGE_SIZE = 25;

/**
 * @param against the run with which its queries are compared; null if there is none
 * @param scored scores of the run by metric key
 * @param isFailing true if the queries that dropped most are shown first
 */
async function readQueryTable(
  context: Context,
  run: GoldenRun,
  against: GoldenRun | null,
  isFailing: boolean,
  scored: Readonly<Record<string, unknown>>,
  query: Query,
): Promise<QueryTableData> {
  const { cutoffs } = run.settings;
  // Measures of unions exist only for runs of queries with steps.
  const keys = runMetricKeys(cutoffs, runMeasures).filter(
    (one) => !isUnionMeasure(one.measure) || Object.hasOwn(scored, formatMetricKey(one)),
  );
  const key = keys.find((one) => formatMetricKey(one) === query['by']) ?? {
    measure: 'ndcg',
    k: Math.max(...cutoffs),
  };
  const page = pageOf(query);
  // A run without valid scores is not compared.
  const isComparable =
    run.status === 'completed' && against?.status === 'completed' && against.answersDeletedAt === null;
  const other = isComparable ? against : null;
  const view = queryViews.find((one) => one === query['view']) ?? (other !== null && isFailing ? 'regressed' : 'worst');
  const from = (page - 1) * PAGE_SIZE;
  const listed =
    run.answersDeletedAt === null
      ? await readRunTable(context, run, other, { view, key, from, limit: PAGE_SIZE })
      : { page: [], total: 0 };
  return {
    view,
    by: formatMetricKey(key),
    measures: keys.map(formatMetricKey),
    rows: listed.page.map((one) => rowOf(one, showsTextOf(context, run.pipeline))),
    total: listed.total,
    page,
    pageSize: PAGE_SIZE,
    against: other?.id ?? null,
    chosenAgainst: query['against'] ?? null,
  };
}

function rowOf({ query, ...listed }: ListedQuery, withText: boolean): QueryRow {
  return { ...listed, id: query.id, text: withText ? query.text : null };
}

/** Number of rows per page in the table of runs. */
const MAX_RUNS = 25;
const MAX_DEPLOYMENTS = 100;

export async function readGoldenPage(
  context: Context,
  pipeline: WatchedPipeline,
  { set: wanted, before }: Query,
  range: TimeRange,
): Promise<GoldenPageData> {
  const { db, reads } = context;
  const status = await readStatus(onReplica(context), pipeline);
  const sets = status.golden.map(({ goldenSet }) => goldenSet);
  const set = status.golden.find(({ goldenSet }) => goldenSet === wanted) ?? status.golden[0];
  if (set === undefined) return { pipeline: pipeline.name, sets, shown: null };
  const { goldenSet, cron } = set;
  const { from, until } = range;
  const asked = { pipeline: pipeline.name, goldenSet, from, until, measures: charted.map(({ measure }) => measure) };
  const [trends, runs, deployments, [diagnosis]] = await Promise.all([
    reads.golden.runReads.trends(asked),
    reads.golden.runReads.history({ ...asked, until: startOf(before) ?? until, limit: MAX_RUNS + 1 }),
    deploymentsWithin(context, pipeline.name, from, until),
    db.incidents.list({ pipeline: pipeline.name, during: { from: until, until }, limit: 1 }),
  ]);
  return {
    pipeline: pipeline.name,
    sets,
    shown: {
      goldenSet,
      cron,
      trends,
      runs: runs.slice(-MAX_RUNS),
      older: runs.length > MAX_RUNS ? (runs.at(-MAX_RUNS)?.startedAt.toISOString() ?? null) : null,
      deployments,
      diagnosis: diagnosis ?? null,
      baseline: status.runs.find((one) => one.goldenSet === goldenSet)?.baseline ?? null,
      floors: new Map(
        ofKind(pipeline.checks, 'floor').map(({ measure, below }) => [
          measure,
          { value: below, text: `threshold ${below}`, isThreshold: true },
        ]),
      ),
    },
  };
}

/** Parses the URL parameter with the start of a run; null for an invalid time. */
function startOf(before: string | undefined): Date | null {
  const at = new Date(before ?? '');
  return Number.isNaN(at.getTime()) ? null : at;
}

/** Number of earlier runs in the trend of a run. */
const RUNS_BEFORE = 16;

export async function readRunPage(
  context: Context,
  runId: string,
  range: TimeRange,
  query: Query,
  isAsked: boolean,
): Promise<RunPageData> {
  const { db, reads } = context;
  const { runs } = db.golden;
  const run = await findRun(runs, runId);
  const { pipeline, goldenSet } = run;
  const previous = await runs.list({ pipeline, goldenSet, status: 'completed', before: run, limit: RUNS_BEFORE });
  // The trend includes the time before the run, so that a drop is visible.
  const earliest = previous.at(-1)?.startedAt ?? run.startedAt;
  const from = earliest < range.from ? earliest : range.from;
  const [last] = previous;
  const [previousScores, summary, trends, deployments, notes, pinned, diagnosis, chosen] = await Promise.all([
    last === undefined ? [] : runs.scores(last.id),
    summarizeAnyRun(context, run),
    reads.golden.runReads.trends({
      pipeline,
      goldenSet,
      from,
      until: range.until,
      measures: chartedOfRun.map(({ measure }) => measure),
    }),
    deploymentsWithin(context, pipeline, from, range.until),
    db.live.annotations.of('run', [run.id]),
    db.golden.baselines.pinned(pipeline, goldenSet),
    diagnosisOf(context, run),
    query['against'] === undefined ? null : findRun(runs, query['against']),
  ]);
  const against = chosen ?? (await comparedWith(context, run, diagnosis, [summary.baseline, summary.deployment]));
  return {
    run,
    summary,
    previous: last === undefined ? null : { runId: last.id, scores: previousScores },
    from,
    trends,
    deployments,
    notes: notes.get(run.id) ?? [],
    baseline: pinned?.runId === run.id ? pinned : null,
    diagnosis,
    queries: await readQueryTable(context, run, against, isBreach(summary.verdict), summary.metrics, query),
    explained: isAsked ? await explainRun(context, run.id, { queryId: null, limit: QUERIES_EXPLAINED }) : null,
  };
}

/** @throws RecalldError run_unknown, query_unknown */
export async function readQueryPage(
  context: Context,
  runId: string,
  queryId: string,
  asked: Query,
  isAsked: boolean,
): Promise<QueryPageData> {
  const { against: wanted } = asked;
  const { db } = context;
  const { runs } = db.golden;
  const run = await findRun(runs, runId);
  const incident = await diagnosisOf(context, run);
  const [[stored], stale, other] = await Promise.all([
    db.golden.sets.someQueries(run.goldenSet, run.goldenSetVersion, { ids: [queryId] }),
    runs.staleLabels(run.id),
    wanted === undefined ? otherRun(context, run, incident) : findRun(runs, wanted),
  ]);
  if (stored === undefined) {
    throw new RecalldError('query_unknown', `The golden set of run ${run.id} has no query of that id.`);
  }
  // Runs of a shadow with other chunks are compared by document.
  const { chunkSeparator } = run.settings;
  const [query = stored] = chunkSeparator === undefined ? [] : queriesByDocument([stored], chunkSeparator);
  const [after, before] = await Promise.all([
    readSide(context, run, query, chunkSeparator),
    other === null ? null : readSide(context, other, query, chunkSeparator),
  ]);
  const isShown = showsTextOf(context, run.pipeline);
  const explained = isAsked ? (await explainRun(context, run.id, { queryId, limit: 1 })).explained : null;
  return {
    query,
    showsText: isShown,
    words: isShown ? await wordsOf(context, run.pipeline, [before, after], query, explained) : new Map(),
    after,
    before,
    stale: new Set(stale.flatMap((label) => (label.queryId === queryId ? [label.documentId] : []))),
    explained,
    incident,
  };
}

const WORDS_LIMIT_MS = 2000;

/**
 * Returns the first words of the documents on both sides and of missed documents. Uses the response to a new request if
 * there is one, otherwise stored texts or, if the store is queried anyway, the store.
 */
async function wordsOf(
  { db, pipelines }: Context,
  pipeline: string,
  sides: readonly (QuerySide | null)[],
  { judgments }: GoldenQuery,
  explained: QueryPageData['explained'],
): Promise<ReadonlyMap<string, string>> {
  const shown = sides.flatMap((side) => side?.answer?.documents.map(({ id }) => id) ?? []);
  const known = explained?.[0]?.words ?? new Map<string, string>();
  const ids = [...judgments.map(({ documentId }) => documentId), ...shown].filter((id) => !known.has(id));
  const store = explained === null ? null : (pipelines.find(({ name }) => name === pipeline)?.store ?? null);
  const found = await wordsOfDocuments(db.golden, { name: pipeline, store }, ids, AbortSignal.timeout(WORDS_LIMIT_MS));
  return new Map([...found, ...known]);
}

async function readSide(
  context: Context,
  run: GoldenRun,
  query: GoldenQuery,
  chunkSeparator: string | undefined,
): Promise<QuerySide> {
  if (run.answersDeletedAt !== null) return { run, answer: null, scores: {} };
  const found = await context.reads.golden.runReads.answer(run.id, query.id);
  const [answer = found] =
    found === null || chunkSeparator === undefined ? [] : answersByDocument([found], chunkSeparator);
  const { keys, columns } = scoreQueries([query], answer === null ? [] : [answer], run.settings);
  const scores = keys.map((key, index) => [formatMetricKey(key), columns[index]?.[0] ?? 0] as const);
  return { run, answer, scores: Object.fromEntries(scores) };
}

async function otherRun(context: Context, run: GoldenRun, incident: Incident | null): Promise<GoldenRun | null> {
  const comparisons = await context.db.golden.runs.comparisons(run.id);
  const known = (['baseline', 'deployment'] as const).map((kind) => {
    const found = comparisons.find((one) => one.kind === kind);
    return found === undefined ? null : { run_id: found.against };
  });
  return comparedWith(context, run, incident, known);
}

/**
 * Chooses the run to compare with by default: during an incident the last good run, else the baseline, the last run before
 * a change, or the previous run.
 */
async function comparedWith(
  { db }: Context,
  run: GoldenRun,
  incident: Incident | null,
  known: readonly ({ readonly run_id: string } | null)[],
): Promise<GoldenRun | null> {
  const { runs } = db.golden;
  const good = await goodRunOf(runs, run, incident);
  if (good !== null) return good;
  const against = known.find((one) => one !== null);
  if (against !== undefined) return runs.find(against.run_id);
  const { pipeline, goldenSet } = run;
  const [found] = await runs.list({ pipeline, goldenSet, status: 'completed', before: run, limit: 1 });
  return found ?? null;
}

/** Returns the last good run of the set before an incident; null if there is none or it was deleted. */
async function goodRunOf(runs: GoldenRuns, run: GoldenRun, incident: Incident | null): Promise<GoldenRun | null> {
  const id = incident?.referenceRunId ?? null;
  const found = id === null ? null : await runs.find(id);
  return found !== null && found.goldenSet === run.goldenSet && found.startedAt < run.startedAt ? found : null;
}

/** Incidents open within this time after a run ends: evaluation happens at its end and every 15 seconds. */
const EVALUATION_MS = 60_000;

/** Returns the incident that a run was part of; null for a passing run. */
async function diagnosisOf({ db }: Context, run: GoldenRun): Promise<Incident | null> {
  const { pipeline, finishedAt: from } = run;
  if (from === null) return null;
  const until = new Date(from.getTime() + EVALUATION_MS);
  const [[found], checks] = await Promise.all([
    db.incidents.list({ pipeline, during: { from, until }, limit: 1 }),
    db.golden.runs.checks(run.id),
  ]);
  const isPassing = run.status === 'completed' && checks.every(({ verdict }) => verdict === 'ok');
  return isPassing ? null : (found ?? null);
}

/** Oldest first. */
export async function deploymentsWithin(
  context: Context,
  pipeline: string,
  since: Date,
  until: Date,
): Promise<Deployment[]> {
  const found = await context.db.live.deployments.list({ pipeline, since, limit: MAX_DEPLOYMENTS });
  return found.filter(({ occurredAt }) => occurredAt <= until).toReversed();
}
