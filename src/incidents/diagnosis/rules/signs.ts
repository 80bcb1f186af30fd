/**
 * A sign is a measure around the time of an alert, reduced to a few discrete states. A measure without data has no
 * sign.
 */

import type { Unit } from '../../../core/format.ts';

/**
 * States of each sign. The first state usually means that nothing has changed since before the alert; `healthyStates`
 * lists the exceptions.
 */
export const signStates = {
  /** Share of the golden queries that failed: `none` below 5 %, `some` below 90 %, otherwise `most`. */
  failures: ['none', 'some', 'most'],
  failure_kind: ['errors', 'timeouts', 'denied', 'throttled', 'not_understood'],
  live_errors: ['none', 'some', 'most'],
  live_empty: ['as_before', 'rose'],
  /** 95th percentile of the live latency that the service reports. */
  live_latency: ['steady', 'rose'],
  live_results: ['as_before', 'fell'],
  /** Change in positive user feedback or, if there is no feedback, in clicks. */
  feedback: ['as_before', 'fell'],
  top_query: ['as_before', 'rose'],
  /** Share of live queries that repeat an earlier query of their session. */
  repeated_queries: ['as_before', 'rose'],
  /** Change in the share of live queries in the usual language. */
  language: ['as_before', 'changed'],
  /** Mean number of characters per live query. */
  query_length: ['as_before', 'fell', 'rose'],
  /** Share of live queries with a malformed text. */
  malformed_queries: ['as_before', 'rose'],
  /** Share of live queries without capital letters, digits and punctuation. */
  query_style: ['as_before', 'changed'],
  /**
   * Retrieval calls per agent episode; `stopped` if almost no episode has a second call. `fell` is healthy, because an
   * agent needs fewer calls if its retriever improves.
   */
  episode_calls: ['as_before', 'fell', 'rose', 'stopped'],
  /** Number of calls per episode that repeat the results of an earlier call in the same episode. */
  episode_repeats: ['as_before', 'rose'],
  /** Share of rewritten queries that look like answers. */
  rewritten_queries: ['as_before', 'answers'],
  /** Judged score of rewritten queries minus the score of the original texts. */
  rewrite_gain: ['as_before', 'fell'],
  live_relevance: ['as_before', 'fell'],
  /**
   * Replayed live queries: `live_differs` if the retriever returns what users got before, but not what they get now;
   * `all_differ` if it returns what users get now, but not what they got before.
   */
  live_replay: ['as_before', 'live_differs', 'all_differ'],
  /**
   * Golden queries whose results changed, with one word removed: `end_ignored` if words near the end have no effect,
   * `all_ignored` if no word has an effect, `restore` if the shorter query gets the earlier results.
   */
  removed_words: ['usual', 'end_ignored', 'all_ignored', 'restore'],
  /** Whether the judge of live queries still grades fixed pairs in the same way. */
  judge: ['same', 'changed'],
  /** 95th-percentile latency of successful calls. */
  latency: ['fell', 'steady', 'rose'],
  /** Whether slow responses get faster, within a run or from run to run. */
  warming: ['falls', 'stays'],
  empty_answers: ['as_before', 'some', 'most'],
  /**
   * Documents per non-empty result list: `cut` if the top documents remain, `thinned` if the missing documents come
   * from all ranks.
   */
  answer_length: ['as_before', 'cut', 'thinned'],
  /** Mean number of characters of text per result. */
  text_length: ['as_before', 'fell', 'rose'],
  /** Change in the length of texts for queries whose results contain the same documents as before. */
  same_texts: ['as_before', 'fell'],
  /** Share of results, or of their text, that repeats a higher-ranked result of the same list. */
  repeats: ['as_before', 'rose'],
  /** Whether any query gets the results of a different query. */
  foreign_lists: ['none', 'some'],
  /** Whether one document is new in the results of many queries. */
  common_document: ['as_before', 'rose'],
  /** Change in the failing measure, over queries that succeeded in both runs and whose judged documents exist. */
  score: ['steady', 'unsure', 'fell'],
  /** Share of a query's earlier documents that are still returned for this query. */
  results: ['intact', 'disturbed', 'scrambled'],
  /**
   * Whether result lists that changed keep some of their earlier documents; `pushed_down` if these documents kept their
   * order, below other documents.
   */
  changed_lists: ['in_part', 'whole', 'pushed_down'],
  /**
   * Scores that the retriever returned for documents that are still in the results of a query: unchanged, changed for
   * certain documents, for certain queries, or for most results.
   */
  retrieval_scores: ['as_before', 'of_documents', 'of_queries', 'most'],
  /** Whether calls with changed results slowed down more, or less, than calls with unchanged results. */
  changed_calls: ['alike', 'slower', 'faster'],
  /**
   * Whether earlier documents are still returned for the same queries. Ignores documents that are no longer returned
   * for any query.
   */
  surviving_documents: ['stay', 'move'],
  order: ['as_before', 'changed'],
  /**
   * Documents that are returned for at most half as many queries as before: `gone` if most of them are no longer
   * returned at all.
   */
  rarer_documents: ['gone', 'fewer'],
  /** Whether a document that is lost from one changed result list is missing from all changed lists. */
  dropped_documents: ['from_all', 'from_some'],
  /** Whether all queries together still retrieve the same documents. */
  documents: ['same', 'vanished', 'replaced'],
  /** Whether each old document was replaced by one new document. */
  renamed: ['one_to_one', 'not'],
  /** Number of distinct documents across all result lists. */
  variety: ['as_before', 'collapsed'],
  /** Whether consecutive bad runs, or calls made within seconds of each other, returned the same results. */
  again: ['repeats', 'alternates', 'differs'],
  /** Whether the results match those of a run before the last good run. */
  older_answers: ['alike', 'unlike'],
  /** Whether one segment of the golden set accounts for the loss. */
  segment: ['spread', 'one', 'several'],
  /** Whether queries that share one text trait, such as script, language or length, account for the loss. */
  query_kind: ['spread', 'one'],
  /** Whether the failing measure was higher in the first run of the golden set. */
  level: ['was_higher', 'always_low'],
  /** Whether ratings of live results by users and the judge agree with the golden score or are higher. */
  opinions: ['agree', 'higher'],
  labels: ['alive', 'some_gone', 'many_gone'],
  /** What happened to most missing judged documents. */
  gone_documents: ['superseded', 'deleted', 'lost'],
  /** Whether any returned document is judged. */
  judged: ['some', 'none'],
  forbidden: ['none', 'some'],
  /** The retriever stage that caused most of the loss: the first stage, a filter, or a later stage. */
  stage: ['steady', 'candidates', 'filter', 'later'],
  golden_set: ['same', 'new_version'],
  /** `shrank`: the number of vectors dropped by 0.5 to 2 %, as in the first minutes of a slow loss. */
  store_size: ['steady', 'grew', 'shrank', 'fell', 'emptied'],
  ann_recall: ['steady', 'fell'],
  /**
   * Share of the results that are among the nearest documents in the store; `fell_far` if many of the other results are
   * not even in a longer list of these documents.
   */
  store_agreement: ['as_before', 'fell_near', 'fell_far', 'rose'],
  /** Whether documents that the run missed are stored with the vectors that the embedder returns for their texts. */
  missed_vectors: ['own', 'foreign'],
  /**
   * Whether documents that the run missed still have the same texts as before: `cut` if most changed texts are now a
   * part of the earlier text.
   */
  missed_texts: ['same', 'cut', 'changed'],
  /** Whether the store has the documents that the run returned. */
  returned_documents: ['stored', 'absent'],
  /** Whether documents in the manifest are missing from the store; no sign without a manifest. */
  index_documents: ['whole', 'missing'],
  /** Whether stored documents are returned for their own text. */
  index_retrieval: ['found', 'not_found'],
  /** Documents that should no longer be in the store, including old chunks that remain next to new ones. */
  index_orphans: ['none', 'some'],
  /** Whether document changes reach the store within the allowed time. */
  index_arrivals: ['in_time', 'late'],
  index_models: ['one', 'mixed'],
  index_settings: ['changed'],
  canary: ['same', 'changed'],
  embedder: ['changed'],
  /** Deployments annotated between the last good run and the first bad measurement, by kind. */
  deployment: ['none', 'index', 'embedder', 'retriever', 'golden'],
  density: ['steady', 'fell', 'fell_new_questions', 'fell_same_questions'],
  topics: ['none', 'new_demand', 'lost_content'],
  sentinel: ['stands', 'fallen'],
  /** Whether recalld starts and completes its runs, and can measure latencies. */
  own_work: ['done', 'overdue', 'failed', 'starved'],
} as const;

export type SignName = keyof typeof signStates;

/**
 * States that indicate no change since before the alert. A sign that is not listed here has only one such state, the
 * first.
 */
const healthyStates: Readonly<Partial<Record<SignName, readonly string[]>>> = {
  episode_calls: ['as_before', 'fell'],
  latency: ['steady'],
  older_answers: ['unlike'],
  // The following signs only describe a change that another sign shows.
  failure_kind: signStates.failure_kind,
  warming: signStates.warming,
  changed_lists: signStates.changed_lists,
  changed_calls: signStates.changed_calls,
  surviving_documents: signStates.surviving_documents,
  rarer_documents: signStates.rarer_documents,
  dropped_documents: signStates.dropped_documents,
  renamed: signStates.renamed,
  again: signStates.again,
  gone_documents: signStates.gone_documents,
  // The following signs exist only if something has changed.
  index_settings: [],
  embedder: [],
};

/** Returns true if the sign shows no change since before the alert. */
export function isHealthy({ name, state }: SignState): boolean {
  const states: readonly string[] = healthyStates[name] ?? signStates[name].slice(0, 1);
  return states.includes(state);
}

/** A sign with one of its states. */
export interface SignState<Name extends SignName = SignName> {
  readonly name: Name;
  readonly state: (typeof signStates)[Name][number];
}

/** A sign with its observed state and the measurement behind it. */
export type Sign = {
  [Name in SignName]: SignState<Name> & {
    /** One sentence with the measured numbers. Never contains a query text or the id of a query, user or document. */
    readonly sentence: string;
    /** Start of the measured period (ISO 8601); null for the golden run itself, and for facts that are not measured. */
    readonly from: string | null;
    /** Sample size; null if the sign is not based on a sample. */
    readonly n: number | null;
    /** The measured number and its earlier value; absent if the sign is not measured as a number. */
    readonly values?: SignValues | undefined;
  };
}[SignName];

/** A number at the time of the alert and its earlier value. */
export interface SignValues {
  /** The earlier value; null if unknown. */
  readonly before: number | null;
  readonly now: number;
  readonly unit: Unit;
}

export const signNames = Object.keys(signStates) as readonly SignName[];

/** Creates a sign; the type ensures that the state belongs to the name. */
export function sign<Name extends SignName>(
  name: Name,
  state: (typeof signStates)[Name][number],
  sentence: string,
  values?: SignValues,
): Sign {
  return { name, state, sentence, from: null, n: null, ...(values === undefined ? {} : { values }) } as Sign;
}
