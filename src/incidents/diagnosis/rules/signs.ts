/** Signs: what each measure says around an alarm, as one of a few states. What was not measured gives no sign. */

import type { Unit } from '../../../core/format.ts';

export const signStates = {
  /** Share of the golden queries that failed: `none` below 5 %, `some` below 90 %, else `most`. */
  failures: ['none', 'some', 'most'],
  /** What most of the failures are. */
  failure_kind: ['errors', 'timeouts', 'denied', 'throttled', 'not_understood'],
  /** Share of live queries that fail, beside what it was before. */
  live_errors: ['none', 'some', 'most'],
  /** Share of live queries that get no document, beside what it was before. */
  live_empty: ['as_before', 'rose'],
  /** 95th percentile of the latency that the service reports of its live answers. */
  live_latency: ['steady', 'rose'],
  /** Results of a live answer that has any, beside what they were before. */
  live_results: ['as_before', 'fell'],
  /** Positive opinions of users, or clicks where there are none, beside before. */
  feedback: ['as_before', 'fell'],
  /** Share of the most frequent live query, beside before. */
  top_query: ['as_before', 'rose'],
  /** Share of live queries in their usual language, beside before. */
  language: ['as_before', 'changed'],
  /** Judged relevance of live queries beside the weeks before. */
  live_relevance: ['as_before', 'fell'],
  /** Whether the judge of live queries grades fixed pairs as it did. */
  judge: ['same', 'changed'],
  /** 95th percentile of the latency of the answers that came. */
  latency: ['fell', 'steady', 'rose'],
  /** Whether slow answers get faster, from the first questions of a run to the last or from run to run. */
  warming: ['falls', 'stays'],
  empty_answers: ['as_before', 'some', 'most'],
  /** Documents in an answer that has any; `cut`: the first ones are left, `thinned`: some of all places. */
  answer_length: ['as_before', 'cut', 'thinned'],
  /** Characters of the texts of an answer for each of its results. */
  text_length: ['as_before', 'fell', 'rose'],
  /** Results and texts that an answer holds more than once. */
  repeats: ['as_before', 'rose'],
  /** Answers that are the list of another query. */
  foreign_lists: ['none', 'some'],
  /** Whether one document came new to many queries. */
  common_document: ['as_before', 'rose'],
  /** The failing measure, over queries that both runs answered and whose judged documents exist. */
  score: ['steady', 'unsure', 'fell'],
  /** Share of the documents of a query that it still gets. */
  results: ['intact', 'disturbed', 'scrambled'],
  /** Whether queries still get those of their documents that any query still gets. */
  those_left: ['stay', 'move'],
  /** Whether queries get the same documents in another order. */
  order: ['as_before', 'changed'],
  /** The documents that any query retrieves, as a pool. */
  documents: ['same', 'vanished', 'replaced'],
  /** Whether each old document has one new one in its place. */
  renamed: ['one_to_one', 'not'],
  /** Different documents in all answers together. */
  variety: ['as_before', 'collapsed'],
  /** Whether bad runs one after the other got the same answers. */
  again: ['repeats', 'alternates', 'differs'],
  /** Whether the answers are those of a run before the last good one. */
  older_answers: ['alike', 'unlike'],
  /** Whether what was lost lies in one segment of the golden set. */
  segment: ['spread', 'one', 'several'],
  /** Whether what was lost lies in queries of one script, language, length or other trait of their texts. */
  query_kind: ['spread', 'one'],
  /** The failing measure in the first run of the set. */
  level: ['was_higher', 'always_low'],
  /** What users and the judge of live queries say of the answers, beside the golden score. */
  opinions: ['agree', 'higher'],
  labels: ['alive', 'some_gone', 'many_gone'],
  /** What became of most judged documents that are gone. */
  gone_documents: ['superseded', 'lost'],
  /** Whether any returned document is judged. */
  judged: ['some', 'none'],
  /** Documents that the golden set forbids. */
  forbidden: ['none', 'some'],
  /** The stage of the retriever that lost most of what the answers lost, where it tells of stages: the first, a filter, or another after it. */
  stage: ['steady', 'candidates', 'filter', 'later'],
  golden_set: ['same', 'new_version'],
  /** `shrank`: by 0.5 to 2 %, as in the first minutes of a slow loss. */
  store_size: ['steady', 'grew', 'shrank', 'fell', 'emptied'],
  ann_recall: ['steady', 'fell'],
  /** Share of the documents of an answer that the store itself finds nearest; `fell_far`: others come from far away. */
  store_agreement: ['as_before', 'fell_near', 'fell_far', 'rose'],
  /** Whether stored documents that the run missed have the vectors that the embedder makes of their texts. */
  missed_vectors: ['own', 'foreign'],
  /** The store against its manifest, where one is given. */
  index_documents: ['whole', 'missing'],
  /** Whether documents of the store are returned for their own text. */
  index_retrieval: ['found', 'not_found'],
  /** What the store should no longer hold, and old chunks beside new ones. */
  index_leftovers: ['none', 'some'],
  /** Whether changes of documents reach the store within the time that is allowed. */
  index_arrivals: ['in_time', 'late'],
  index_models: ['one', 'mixed'],
  index_settings: ['changed'],
  canary: ['same', 'changed'],
  embedder: ['changed'],
  /** Annotated between the last good run and the first bad measurement, by kind. */
  deployment: ['none', 'index', 'embedder', 'retriever', 'golden'],
  density: ['steady', 'fell', 'fell_new_questions', 'fell_same_questions'],
  topics: ['none', 'new_demand', 'lost_content'],
  sentinel: ['stands', 'fallen'],
  /** Of recalld: are its runs started, do they come to an end, and can it measure times? */
  own_work: ['done', 'overdue', 'failed', 'starved'],
} as const;

export type SignName = keyof typeof signStates;

/**
 * States in which a sign shows no difference to before: none for a sign that is only read of a difference, all for one that
 * only describes a difference that another sign shows.
 */
export const healthyStates: { readonly [Name in SignName]: readonly (typeof signStates)[Name][number][] } = {
  failures: ['none'],
  failure_kind: signStates.failure_kind,
  live_errors: ['none'],
  live_empty: ['as_before'],
  live_latency: ['steady'],
  live_results: ['as_before'],
  feedback: ['as_before'],
  top_query: ['as_before'],
  language: ['as_before'],
  live_relevance: ['as_before'],
  judge: ['same'],
  latency: ['steady'],
  warming: signStates.warming,
  empty_answers: ['as_before'],
  answer_length: ['as_before'],
  text_length: ['as_before'],
  repeats: ['as_before'],
  foreign_lists: ['none'],
  common_document: ['as_before'],
  score: ['steady'],
  results: ['intact'],
  those_left: signStates.those_left,
  order: ['as_before'],
  documents: ['same'],
  renamed: signStates.renamed,
  variety: ['as_before'],
  again: signStates.again,
  older_answers: ['unlike'],
  segment: ['spread'],
  query_kind: ['spread'],
  level: ['was_higher'],
  opinions: ['agree'],
  labels: ['alive'],
  gone_documents: signStates.gone_documents,
  judged: ['some'],
  forbidden: ['none'],
  stage: ['steady'],
  golden_set: ['same'],
  store_size: ['steady'],
  ann_recall: ['steady'],
  store_agreement: ['as_before'],
  missed_vectors: ['own'],
  index_documents: ['whole'],
  index_retrieval: ['found'],
  index_leftovers: ['none'],
  index_arrivals: ['in_time'],
  index_models: ['one'],
  index_settings: [],
  canary: ['same'],
  embedder: [],
  deployment: ['none'],
  density: ['steady'],
  topics: ['none'],
  sentinel: ['stands'],
  own_work: ['done'],
};

/** One sign in the state it was found in. */
export type Sign = {
  [Name in SignName]: {
    readonly name: Name;
    readonly state: (typeof signStates)[Name][number];
    /** One sentence with the numbers. Never a text of a query, nor an id of a query, user or document. */
    readonly sentence: string;
    /** Start of what was measured (ISO 8601); null for the golden run itself, and what is known without a measurement. */
    readonly from: string | null;
    /** Size of the sample; null for what is none. */
    readonly n: number | null;
    /** The measured number; left out for a sign that is not about one. */
    readonly values?: SignValues | undefined;
  };
}[SignName];

/** A number at the time of the alert, and before. */
export interface SignValues {
  /** Null if unknown. */
  readonly before: number | null;
  readonly now: number;
  readonly unit: Unit;
}

export const signNames = Object.keys(signStates) as readonly SignName[];

/** Ties the state to the name. */
export function sign<Name extends SignName>(
  name: Name,
  state: (typeof signStates)[Name][number],
  sentence: string,
  values?: SignValues,
): Sign {
  return { name, state, sentence, from: null, n: null, ...(values === undefined ? {} : { values }) } as Sign;
}
