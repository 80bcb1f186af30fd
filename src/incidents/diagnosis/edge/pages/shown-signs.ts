/** Titles of the signs on pages, and links to the data behind them. */
import type { QueryView } from '../../../../golden/rules/listed-queries.ts';
import { type PipelinePage, pipelinePath, runPath, runQueries } from '../../../../report/console/links.ts';
import type { Link } from '../../../../report/model/content.ts';
import { link } from '../../../../report/model/show.ts';
import type { Diagnosis } from '../../rules/incident.ts';
import type { SignName } from '../../rules/signs.ts';

/** Returns the link for a sign; null if there is no run to link to. */
type Place = (diagnosis: Diagnosis) => Link | null;

export const onRun =
  (view: QueryView, text: string): Place =>
  ({ runId, referenceRunId }) =>
    runId === null ? null : runQueries(text, runId, view, referenceRunId);
const onPage =
  (page: PipelinePage, anchor: string, text: string): Place =>
  ({ pipeline }) =>
    link(text, pipelinePath(pipeline, page), {}, anchor);
const onPartOfRun =
  (anchor: string, text: string): Place =>
  ({ runId }) =>
    runId === null ? null : link(text, runPath(runId), {}, anchor);
const regressed = onRun('regressed', 'Most regressed queries');
const measures = onPage('', 'measures', 'Latest measures');
const runs = onPage('golden', 'runs', 'Golden runs');
const changes: Place = ({ pipeline }) => link('Deployments', '/deployments', { pipeline });

/**
 * A lost document lowers the scores of its queries; a superseded or deleted document makes the judgments of its queries
 * stale.
 */
const goneDocuments: Place = (diagnosis) =>
  hasStaleLabels(diagnosis) ? onRun('stale', 'Queries with stale labels')(diagnosis) : regressed(diagnosis);

export function hasStaleLabels({ signs }: Diagnosis): boolean {
  return signs.some(({ name, state }) => name === 'gone_documents' && state !== 'lost');
}

export const shownSigns: Readonly<Record<SignName, readonly [title: string, place: Place]>> = {
  failures: ['Failed golden queries', onRun('failed', 'Failed queries')],
  failure_kind: ['Kind of failure', onRun('failed', 'Failed queries')],
  live_errors: ['Failed live queries', measures],
  live_empty: ['Live queries without results', measures],
  live_latency: ['Live latency, p95', measures],
  live_results: ['Results per live query', measures],
  feedback: ['Positive feedback', onPage('traffic', 'feedback', 'Feedback')],
  top_query: ['Most frequent query', measures],
  repeated_queries: ['Queries repeated within a session', measures],
  language: ['Queries in the usual language', measures],
  query_length: ['Characters per live query', measures],
  malformed_queries: ['Malformed live queries', measures],
  query_style: ['Plain live queries', measures],
  episode_calls: ['Retrieval calls per episode', onPage('traffic', 'episodes', 'Episodes')],
  episode_repeats: ['Repeated calls per episode', onPage('traffic', 'episodes', 'Episodes')],
  rewritten_queries: ['Rewritten queries that look like answers', onPage('traffic', 'episodes', 'Episodes')],
  rewrite_gain: ['Rewrite gain', measures],
  live_relevance: ['Judged live relevance', measures],
  live_replay: ['Replayed live queries', measures],
  removed_words: ['Queries with one word removed', measures],
  judge: ['Judge model', measures],
  latency: ['Golden latency, p95', onRun('worst', 'Queries of the run')],
  warming: ['Latency during the run', onRun('worst', 'Queries of the run')],
  empty_answers: ['Golden queries without results', onRun('newly_empty', 'Queries that lost all results')],
  answer_length: ['Results per golden query', regressed],
  text_length: ['Characters per result', regressed],
  same_texts: ['Text length of unchanged results', regressed],
  repeats: ['Repeated results or text', regressed],
  foreign_lists: ['Results that belong to another query', regressed],
  common_document: ['New document in many results', regressed],
  score: ['Golden score', regressed],
  results: ['Earlier documents still returned', regressed],
  changed_lists: ['Earlier documents in changed results', regressed],
  retrieval_scores: ["The retriever's scores", regressed],
  changed_calls: ['Latency of calls with changed results', regressed],
  surviving_documents: ['Surviving documents still returned', regressed],
  order: ['Order of results', regressed],
  documents: ['Returned documents', regressed],
  dropped_documents: ['Documents dropped from changed results', regressed],
  renamed: ['Document ids', regressed],
  variety: ['Distinct documents returned', regressed],
  again: ['Consecutive bad runs', regressed],
  older_answers: ['Results that match an earlier run', regressed],
  segment: ['Segments', regressed],
  query_kind: ['Kinds of queries', regressed],
  level: ['Golden score since the first run', runs],
  opinions: ['Live ratings compared with golden score', measures],
  judged: ['Returned documents with a judgment', onRun('worst', 'Queries of the run')],
  labels: ['Judged documents not found by id', goneDocuments],
  gone_documents: ['Fate of missing judged documents', goneDocuments],
  forbidden: ['Forbidden documents', onPartOfRun('forbidden', 'Forbidden documents')],
  stage: ['Loss by stage', onPartOfRun('stages', 'Loss by stage')],
  golden_set: ['Version of the golden set', runs],
  store_size: ['Vectors in the store', measures],
  ann_recall: ['Index recall', measures],
  store_agreement: ['Results among the nearest vectors', measures],
  missed_vectors: ['Missed documents with a wrong vector', onRun('worst', 'Queries of the run')],
  missed_texts: ['Missed documents with a changed text', onRun('worst', 'Queries of the run')],
  rarer_documents: ['Documents returned for fewer queries', regressed],
  returned_documents: ['Returned documents missing from the store', onRun('worst', 'Queries of the run')],
  canary: ['Embedding canary, median cosine', measures],
  index_documents: ['Documents in the manifest', onPage('index', 'missing', 'Index')],
  index_retrieval: ['Documents found by their own text', onPage('index', 'unretrievable', 'Index')],
  index_orphans: ['Outdated documents in the store', onPage('index', 'orphaned', 'Index')],
  index_arrivals: ['Indexing delay', onPage('index', 'index', 'Index')],
  index_models: ['Embedding model of stored vectors', onPage('index', 'other_model', 'Index')],
  index_settings: ['Index settings', changes],
  embedder: ['Embedder', changes],
  deployment: ['Deployments', changes],
  density: ['Query density', onPage('density', 'trend', 'Density')],
  topics: ['Uncovered topics', onPage('density', 'topics', 'Uncovered topics')],
  sentinel: ['Latest sentinel', runs],
  own_work: ['recalld itself', runs],
};
