/** Reads the data for the page that shows a golden query, and the data that several pages about golden runs need. */
import type { Context } from '../../../core/context.ts';
import { RecalldError } from '../../../core/errors.ts';
import type { GoldenQuery } from '../../../core/model.ts';
import type { Incident } from '../../../incidents/diagnosis/rules/incident.ts';
import { type Explained, explainRun, wordsOfDocuments } from '../../../incidents/explain/answers.ts';
import type { Deployment } from '../../../live/deployments/rules/deployment.ts';
import type { Query } from '../../../report/console/http/visit.ts';
import { showsTextOf } from '../../../report/console/shows-text.ts';
import type { DocumentFate } from '../../rules/labels.ts';
import type { GoldenRun } from '../../rules/run.ts';
import { answersByDocument, queriesByDocument, scoreQueries } from '../../rules/score-run.ts';
import { scoresOf } from '../../runs/run-summary.ts';
import { findRun } from '../../runs/stored-runs.ts';
import type { GoldenRuns } from '../../sql/golden-runs.ts';

const MAX_DEPLOYMENTS = 100;

export type QueryPageData = Awaited<ReturnType<typeof readQueryPage>>;

/** @throws RecalldError run_unknown, query_unknown */
export async function readQueryPage(context: Context, runId: string, queryId: string, asked: Query, isAsked: boolean) {
  const { against: wanted } = asked;
  const { db } = context;
  const { runs } = db.golden;
  const run = await findRun(runs, runId);
  const incident = await diagnosisOf(context, run);
  const [[stored], stale, lost, other] = await Promise.all([
    db.golden.sets.queries(run.goldenSet, run.goldenSetVersion, { ids: [queryId] }),
    runs.staleLabels(run.id),
    runs.lostLabels(run.id),
    wanted === undefined ? otherRun(context, run, incident) : findRun(runs, wanted),
  ]);
  if (stored === undefined) {
    throw new RecalldError('query_unknown', `The golden set of run ${run.id} has no query with that id.`);
  }
  // If a shadow splits documents differently from the pipeline, runs of the shadow are compared by document, not by
  // chunk.
  const { chunkSeparator } = run.settings;
  const [query = stored] = chunkSeparator === undefined ? [] : queriesByDocument([stored], chunkSeparator);
  const [after, before] = await Promise.all([
    readSide(context, run, query, chunkSeparator),
    other === null ? null : readSide(context, other, query, chunkSeparator),
  ]);
  const isShown = showsTextOf(context, run.pipeline);
  const explained = isAsked ? (await explainRun(context, run.id, { queryId, limit: 1 })).explained : null;
  const words = isShown
    ? await wordsOf(context, run.pipeline, [before, after], query, explained)
    : new Map<string, string>();
  return {
    query,
    showsText: isShown,
    /** First words of each document, keyed by document id. */
    words,
    after,
    /** The query in the compared run; null if there is no run to compare with. */
    before,
    /** Fates of the judged documents that are missing from the store, keyed by document id. */
    fates: new Map(
      [...stale, ...lost]
        .filter((label) => label.queryId === queryId)
        .map(({ documentId, fate }): [string, DocumentFate] => [documentId, fate]),
    ),
    /** Explanations of missed documents, determined while the page is built; null unless requested. */
    explained,
    /** The incident that includes the run (see `diagnosisOf`); null if there is none. */
    incident,
  };
}

const WORDS_LIMIT_MS = 2000;

/**
 * Returns the first words of all judged documents, and of all documents in the results of either run. Prefers the texts
 * in the response of the retriever, if it was queried to explain misses. The words of all other documents come from the
 * texts that recalld stores. Reads the vector store only if misses were explained, because the explanation queries the
 * store anyway.
 */
async function wordsOf(
  { db, pipelines }: Context,
  pipeline: string,
  sides: readonly (QuerySide | null)[],
  { judgments }: GoldenQuery,
  explained: readonly Explained[] | null,
): Promise<ReadonlyMap<string, string>> {
  const shown = sides.flatMap((side) => side?.answer?.documents.map(({ id }) => id) ?? []);
  const known = explained?.[0]?.words ?? new Map<string, string>();
  const ids = [...judgments.map(({ documentId }) => documentId), ...shown].filter((id) => !known.has(id));
  const store = explained === null ? null : (pipelines.find(({ name }) => name === pipeline)?.store ?? null);
  const found = await wordsOfDocuments(
    db.golden.documents,
    { name: pipeline, store },
    ids,
    AbortSignal.timeout(WORDS_LIMIT_MS),
  );
  return new Map([...found, ...known]);
}

export type QuerySide = Awaited<ReturnType<typeof readSide>>;

async function readSide(context: Context, run: GoldenRun, query: GoldenQuery, chunkSeparator: string | undefined) {
  if (run.answersDeletedAt !== null) return { run, answer: null, scores: scoresOf([], [], 0) };
  const found = await context.reads.golden.runReads.answer(run.id, query.id);
  const [answer = found] =
    found === null || chunkSeparator === undefined ? [] : answersByDocument([found], chunkSeparator);
  const { keys, columns } = scoreQueries([query], answer === null ? [] : [answer], run.settings);
  return { run, answer, scores: scoresOf(keys, columns, 0) };
}

async function otherRun(context: Context, run: GoldenRun, incident: Incident | null): Promise<GoldenRun | null> {
  const comparisons = await context.db.golden.runs.comparisons(run.id);
  const known = comparisons.map(({ against }) => against);
  return comparedWith(context, run, incident, known);
}

/**
 * Chooses the run to compare with by default, in this order of preference: the last good run before the incident to
 * which the run belongs; the first run in `known`; the previous completed run.
 *
 * @param known run ids: first the baseline, then the last run before the store or the model changed
 */
export async function comparedWith(
  { db }: Context,
  run: GoldenRun,
  incident: Incident | null,
  known: readonly (string | undefined)[],
): Promise<GoldenRun | null> {
  const { runs } = db.golden;
  const good = await goodRunOf(runs, run, incident);
  if (good !== null) return good;
  const against = known.find((one) => one !== undefined);
  if (against !== undefined) return runs.find(against);
  const { pipeline, goldenSet } = run;
  const [found] = await runs.list({ pipeline, goldenSet, status: 'completed', before: run, limit: 1 });
  return found ?? null;
}

async function goodRunOf(runs: GoldenRuns, run: GoldenRun, incident: Incident | null): Promise<GoldenRun | null> {
  const id = incident?.referenceRunId ?? null;
  const found = id === null ? null : await runs.find(id);
  return found !== null && found.goldenSet === run.goldenSet && found.startedAt < run.startedAt ? found : null;
}

/**
 * An incident about a run opens within this time after the run ends, because alerts are evaluated at the end of the run
 * and every 15 seconds.
 */
const EVALUATION_MS = 60_000;

/** Returns the incident that was open when the run ended or soon after; null for a run whose checks all passed. */
export async function diagnosisOf({ db }: Context, run: GoldenRun): Promise<Incident | null> {
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

/** Returns the deployments within a time span, oldest first. */
export async function deploymentsWithin(
  context: Context,
  pipeline: string,
  since: Date,
  until: Date,
): Promise<Deployment[]> {
  const found = await context.db.live.deployments.list({ pipeline, since, limit: MAX_DEPLOYMENTS });
  return found.filter(({ occurredAt }) => occurredAt <= until).toReversed();
}
