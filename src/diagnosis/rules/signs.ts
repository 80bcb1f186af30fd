/** What each measure says around an alarm, as one of a few states. A measure that was not taken gives no sign. */

export const signStates = {
  /** Share of the golden queries that failed: `none` below 5 %, `some` below 50 %, else `most`. */
  failures: ['none', 'some_errors', 'most_errors', 'some_timeouts', 'most_timeouts'],
  /** 95th percentile of the latency of the answers that came. */
  latency: ['steady', 'rose'],
  empty_answers: ['as_before', 'rose'],
  /** nDCG over the queries that were answered in both runs and whose labels are alive. */
  score: ['steady', 'fell'],
  /** Share of the documents of a query that it still gets. */
  results: ['intact', 'disturbed', 'scrambled'],
  /** The documents that any query retrieves, as a pool. */
  documents: ['same', 'vanished', 'replaced'],
  labels: ['alive', 'some_gone', 'many_gone'],
  golden_set: ['same', 'new_version'],
  store_size: ['steady', 'grew', 'fell', 'emptied'],
  ann_recall: ['steady', 'fell'],
  index_settings: ['same', 'changed'],
  canary: ['same', 'changed'],
  embedder: ['same', 'changed'],
  /** Annotated between the last good run and the alarm, by kind. */
  deployment: ['none', 'index', 'embedder', 'retriever', 'golden'],
  density: ['steady', 'fell', 'fell_new_questions', 'fell_same_questions'],
  topics: ['none', 'new_demand', 'lost_content'],
  sentinel: ['stands', 'fallen'],
  /** Of recalld: are its runs started, and do they come to an end? */
  own_work: ['done', 'overdue', 'failed'],
} as const;

export type SignName = keyof typeof signStates;

/** One sign in the state it was found in. */
export type Sign = {
  [Name in SignName]: {
    readonly name: Name;
    readonly state: (typeof signStates)[Name][number];
    /** One sentence with the numbers. Never a text of a query, nor an id of a query, user or document. */
    readonly sentence: string;
  };
}[SignName];

export const signNames = Object.keys(signStates) as readonly SignName[];
