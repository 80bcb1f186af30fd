/**
 * Requests and responses for two kinds of explanation: of one document for a query, and of the documents that a golden
 * run missed.
 */

import type { Config } from '../../app/config/schema.ts';
import type { VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { countEach } from '../../core/group-by.ts';
import { returnedWithin } from '../../golden/rules/steps.ts';
import { findRun, readComparedSide } from '../../golden/runs/stored-runs.ts';
import type { GoldenDocuments } from '../../golden/sql/golden-sets.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { type AskedQuestion, lookAtVector, lookForDocuments, lookForHubs, lookForQuestion } from './gather-evidence.ts';
import type { Ranking } from './rules/outranked.ts';
import {
  type Explanation,
  explain,
  leavesVectorOpen,
  type SeenDocument,
  type SeenQuestion,
  verdicts,
} from './rules/verdict.ts';

export interface MissedQuestion {
  /** Id of the golden query; null if the query is not from a golden set. */
  readonly id: string | null;
  readonly question: AskedQuestion;
  /** Ids of the documents to explain. */
  readonly documents: readonly string[];
}

export interface Explained extends Explanation {
  readonly queryId: string | null;
  readonly question: AskedQuestion;
  readonly document: string;
  /** First words of the documents whose text the retriever now returns, keyed by id. */
  readonly words: ReadonlyMap<string, string>;
}

/**
 * @param queryId the query to explain; null for all queries of the run
 * @param document the document to explain; null for all missed relevant documents
 * @param limit maximum number of queries
 * @throws RecalldError run_unknown, query_unknown
 */
async function missesOfRun(
  context: Context,
  runId: string,
  queryId: string | null,
  document: string | null,
  limit: number,
) {
  const run = await findRun(context.db.golden.runs, runId);
  const { queries, answers, settings } = await readComparedSide(context, run);
  if (queryId !== null && !queries.some(({ id }) => id === queryId))
    throw new RecalldError(
      'query_unknown',
      `The run ${runId} has no judged query "${queryId}"; list its queries with \`recalld runs show ${runId} --per-query\`.`,
    );
  const k = Math.max(...settings.cutoffs);
  const found = new Map(answers.map((one) => [one.queryId, returnedWithin(one.documents, k)]));
  const missed = queries
    .filter(({ id }) => queryId === null || id === queryId)
    .map(({ id, text, steps = null, tags, judgments }) => ({
      id,
      questions: steps?.map((step, index) => ({ text: step, step: index + 1, tags, k })) ?? [{ text, tags, k }],
      documents:
        document === null
          ? judgments
              .filter(({ documentId, grade }) => grade >= settings.relevanceLevel && !found.get(id)?.has(documentId))
              .map(({ documentId }) => documentId)
          : [document],
    }))
    .filter(({ documents }) => documents.length > 0);
  const misses = missed.reduce((sum, { documents }) => sum + documents.length, 0);
  // Explains the document for every step, because any step could have been meant to find it.
  const questions = missed
    .slice(0, limit)
    .flatMap(({ questions: asked, ...one }) => asked.map((question) => ({ ...one, question })));
  return { run, misses, questions };
}

/**
 * Rejects combinations of tags that no golden query of the pipeline has. Tags determine the retriever's filter, so
 * arbitrary tags would reveal documents that recalld does not show elsewhere.
 *
 * @throws RecalldError pipeline_unknown, key_lacks_scope
 */
export async function assertKnownTags(
  { pipelines, db }: Context,
  pipeline: string,
  tags: Readonly<Record<string, string>>,
): Promise<void> {
  const names = Object.keys(tags);
  if (names.length === 0) return;
  const sets = findPipeline(pipelines, pipeline).golden.map(({ set }) => set);
  if (await db.golden.sets.hasTags(sets, tags)) return;
  throw new RecalldError(
    'key_lacks_scope',
    `This API key may use only tags of the golden queries of ${pipeline}, and no golden query has this combination of ${names.join(', ')}. Use the tags of a golden query, or a key with the admin scope.`,
  );
}

/** Returns the fields in the filter of a pipeline's retriever. */
function filtersOf({ pipelines }: Config, name: string): readonly string[] {
  const { retriever } = findPipeline(pipelines, name);
  return 'filter' in retriever ? Object.keys(retriever.filter) : [];
}

/**
 * Sends the queries one after another, within the limits of the retriever.
 *
 * @throws RecalldError retriever_busy; the abort reason of `signal`
 */
export async function explainAll(
  context: Context,
  pipeline: WatchedPipeline,
  questions: readonly MissedQuestion[],
  signal: AbortSignal,
): Promise<Explained[]> {
  const filters = filtersOf(context.config, pipeline.name);
  const ids = [...new Set(questions.flatMap(({ documents }) => documents))];
  const asked = questions.flatMap(({ id }) => id ?? []);
  const stored = await context.explainTurns.take(context, pipeline, signal, (throttled) =>
    lookForDocuments(context, throttled, ids, asked.length === 0 ? null : asked, signal),
  );
  const known = new Map(stored.map((document) => [document.id, document]));
  const k = Math.max(0, ...questions.map(({ question }) => question.k));
  const hubs = questions.length === 0 ? new Map<string, number>() : await lookForHubs(context, pipeline.name, k);
  const explained: Explained[] = [];
  for (const { id: queryId, question, documents } of questions) {
    await context.explainTurns.take(context, pipeline, signal, async (throttled) => {
      const seen = await lookForQuestion(throttled, question, filters, hubs, signal);
      const words = wordsIn(seen.asked);
      for (const document of documents.flatMap((id) => known.get(id) ?? [])) {
        const found = await explainDocument(throttled, seen, document, signal);
        explained.push({ queryId, question, document: document.id, words, ...found });
      }
    });
  }
  return explained;
}

/** Maximum time that a page waits for explanations. */
const PAGE_LIMIT_MS = 60_000;

export type ExplainedRun = Awaited<ReturnType<typeof explainRun>>;

/**
 * Sends the queries of a stored run to the retriever again to explain the documents that the run missed. Returns no
 * explanations for a pipeline that is no longer configured.
 *
 * @throws RecalldError run_unknown, query_unknown, retriever_busy
 */
export async function explainRun(
  context: Context,
  runId: string,
  { queryId, limit }: { readonly queryId: string | null; readonly limit: number },
) {
  const { run, misses, questions } = await missesOfRun(context, runId, queryId, null, limit);
  const pipeline = context.pipelines.find(({ name }) => name === run.pipeline);
  const signal = AbortSignal.timeout(PAGE_LIMIT_MS);
  const explained = pipeline === undefined ? [] : await explainAll(context, pipeline, questions, signal);
  /** `misses`: number of relevant documents that the run missed, over all its queries. */
  return { misses, explained };
}

/**
 * Explains why the retriever did not return a document. Also examines the document's vector if the other evidence does
 * not suffice for a verdict.
 */
export async function explainDocument(
  pipeline: WatchedPipeline,
  seen: SeenQuestion,
  document: SeenDocument,
  signal: AbortSignal,
): Promise<Explanation> {
  const first = explain(seen, document);
  if (document.isStored !== true || !leavesVectorOpen(first, seen, document.id)) return first;
  return explain(seen, { ...document, vector: await lookAtVector(pipeline, seen, document.id, signal) });
}

function wordsIn({ documents }: Ranking): ReadonlyMap<string, string> {
  return new Map(documents.flatMap(({ id, text }) => (text === null ? [] : [[id, firstWords(text)] as const])));
}

const LONGEST = 140;
const MAX_DOCUMENTS = 60;

/**
 * Returns the first words of documents, keyed by id. The text comes from the stored judged document or, if there is
 * none, from the vector store. Uses the first chunk of a document with several chunks. Omits documents without a text,
 * for example because the store does not respond.
 */
export async function wordsOfDocuments(
  documents: GoldenDocuments,
  { name, store }: { readonly name: string; readonly store: VectorStore | null },
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)].slice(0, MAX_DOCUMENTS);
  const words = new Map<string, string>();
  for (const [id, { content }] of await documents.seen(name, wanted)) words.set(id, firstWords(content));
  const left = wanted.filter((id) => !words.has(id));
  if (store === null || left.length === 0) return words;
  const found = await store.chunks(left, signal).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  for (const { id, content } of found?.kind === 'ok' ? found.value : [])
    if (content !== null && content.trim() !== '' && !words.has(id)) words.set(id, firstWords(content));
  return words;
}

function firstWords(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= LONGEST) return line;
  const cut = line.slice(0, LONGEST);
  const end = cut.lastIndexOf(' ');
  return `${cut.slice(0, end > LONGEST / 2 ? end : LONGEST)}…`;
}

/** Request to explain one document for a query, or the documents that a run missed for one or all of its queries. */
export interface ExplainRequest {
  readonly pipeline?: string | undefined;
  readonly query?: string | undefined;
  readonly tag?: Readonly<Record<string, string>> | undefined;
  readonly k: number;
  readonly run?: string | undefined;
  readonly queryId?: string | undefined;
  readonly document?: string | undefined;
  /** Maximum number of queries of the run that are explained. */
  readonly limit: number;
}

export type ExplainAnswer = Awaited<ReturnType<typeof answerRequest>>;

/** @throws RecalldError usage, pipeline_unknown, run_unknown, query_unknown, retriever_busy */
export async function answerRequest(context: Context, request: ExplainRequest, signal: AbortSignal) {
  const wanted = await wantedOf(context, request);
  const pipeline = findPipeline(context.pipelines, wanted.pipeline);
  return { wanted, explained: await explainAll(context, pipeline, wanted.questions, signal) };
}

/** @returns `misses`: number of relevant documents that the run missed, over all its queries */
async function wantedOf(context: Context, request: ExplainRequest) {
  const { pipeline, query, run: runId, queryId = null, document = null } = request;
  if (runId !== undefined && query === undefined) {
    const { run, questions, misses } = await missesOfRun(context, runId, queryId, document, request.limit);
    if (pipeline !== undefined && pipeline !== run.pipeline)
      throw usage(`The run ${runId} belongs to the pipeline ${run.pipeline}, not ${pipeline}; omit --pipeline.`);
    return { pipeline: run.pipeline, runId, misses, questions };
  }
  if (query === undefined || runId !== undefined)
    throw usage('Use either --query TEXT with --document ID, or --run ID, optionally with --query-id.');
  if (pipeline === undefined) throw usage('Add --pipeline NAME to --query.');
  if (document === null) throw usage('Add --document ID: the document that the query should return.');
  const question: AskedQuestion = { text: query, tags: request.tag ?? {}, k: request.k };
  return { pipeline, runId: null, misses: null, questions: [{ id: null, question, documents: [document] }] };
}

const usage = (message: string) => new RecalldError('usage', message);

/** Returns the explanation of the single query and document of a request; null for other requests. */
export function onlyExplained({ explained }: ExplainAnswer, { document }: ExplainRequest): Explained | null {
  return (document !== undefined && explained.length === 1 && explained[0]) || null;
}

/** Returns the JSON response for a single query, or for all requested queries. */
export function explainAnswerJson(answer: ExplainAnswer, request: ExplainRequest) {
  const { wanted, explained } = answer;
  const { pipeline, runId, misses } = wanted;
  const only = onlyExplained(answer, request);
  if (only !== null) return explainedJson(pipeline, only);
  return {
    pipeline,
    run_id: runId,
    misses,
    explained: explained.length,
    verdicts: verdictCounts(explained),
    documents: explained.map((one) => explainedJson(pipeline, one)),
  };
}

function explainedJson(
  pipeline: string,
  { queryId, question, document, outrankedBy, words: _words, ...explanation }: Explained,
) {
  const { text: query, step = null } = question;
  return { pipeline, query_id: queryId, query, step, document, ...explanation, outranked_by: outrankedBy };
}

/**
 * Counts the verdicts, most frequent first. The verdict `outranked` is counted separately for each kind of document
 * that outranks.
 */
export function countsOf(explained: readonly Explained[]): [words: string, count: number][] {
  return [...countEach(explained.map(verdictWords))].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** Formats a verdict, such as `outranked by near duplicates`. */
export function verdictWords({ verdict, outrankedBy }: Explained): string {
  const isAnother = outrankedBy === 'version' || outrankedBy === 'language';
  const by = outrankedBy === null ? '' : ` by ${isAnother ? 'another ' : ''}${outrankedBy}`;
  return `${verdict}${by}`.replaceAll('_', ' ');
}

function verdictCounts(explained: readonly Explained[]): Record<string, number> {
  const counts = [...countEach(explained.map(({ verdict }) => verdict))];
  const place = (verdict: Explained['verdict']) => verdicts.indexOf(verdict);
  return Object.fromEntries(counts.toSorted((a, b) => b[1] - a[1] || place(a[0]) - place(b[0])));
}
