/**
 * What each sign says of each cause: ln P(sign | cause) - ln P(sign | some other cause), in nats, from -5 to 5. They
 * are chosen by judgement and tested by the fault matrix of docs/diagnosis.md. A weight that is left out is 0: the sign
 * says nothing of that cause.
 */
import type { NamedCause } from './cause.ts';

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

type Weights = Readonly<Partial<Record<NamedCause, number>>>;

type WeightTable = {
  readonly [Name in SignName]: Readonly<Record<(typeof signStates)[Name][number], Weights>>;
};

/** A retriever that fails hides what else may be wrong; it is its failure that has to be mended first. */
const failing: Weights = {
  index_parameters: -2,
  index_lost_documents: -2,
  corpus_changed: -2,
  deployment: -1,
  embedding_model: -2,
  uncovered_topic: -2,
  golden_labels: -3,
  recalld: -1.5,
};

/** A deployment explains what got worse after it, whatever was deployed; the part that it was of may show why. */
const deployed: Weights = { deployment: 3.5 };

export const weights: WeightTable = {
  failures: {
    none: { retriever_outage: -5 },
    some_errors: { retriever_outage: 4, retriever_slow: -1, recalld: -1 },
    most_errors: { ...failing, retriever_outage: 5, retriever_slow: -3 },
    some_timeouts: { retriever_slow: 4, retriever_outage: 1, recalld: -1 },
    most_timeouts: { ...failing, retriever_slow: 4, retriever_outage: 2 },
  },
  latency: {
    steady: { retriever_slow: -3 },
    rose: { retriever_slow: 4 },
  },
  empty_answers: {
    as_before: {},
    rose: { index_lost_documents: 1.5, embedding_model: 0.3, deployment: 0.3 },
  },
  score: {
    steady: {
      golden_labels: 0.5,
      uncovered_topic: 1.5,
      index_parameters: -0.5,
      embedding_model: -2,
      deployment: -2,
    },
    fell: {
      index_parameters: 0.5,
      embedding_model: 0.5,
      deployment: 1,
      golden_labels: -2,
      uncovered_topic: -2.5,
      recalld: -3,
    },
  },
  results: {
    intact: {
      golden_labels: 0.7,
      uncovered_topic: 0.7,
      index_parameters: -2,
      index_lost_documents: -2,
      corpus_changed: -2,
      embedding_model: -3,
      deployment: -2,
    },
    disturbed: { index_parameters: 1, deployment: 0.3, golden_labels: -1.5 },
    scrambled: { embedding_model: 2, corpus_changed: 0.5, index_parameters: -0.5, golden_labels: -2 },
  },
  documents: {
    same: {
      index_lost_documents: -2.5,
      corpus_changed: -3,
      golden_labels: 0.5,
      index_parameters: 0.5,
      embedding_model: 0.3,
    },
    vanished: { index_lost_documents: 2.5, golden_labels: -1, index_parameters: -0.5 },
    replaced: {
      corpus_changed: 4,
      index_lost_documents: -2,
      golden_labels: -3,
      index_parameters: -2,
      deployment: -0.5,
    },
  },
  labels: {
    alive: {
      index_lost_documents: -3,
      corpus_changed: -4,
      golden_labels: -1.5,
      index_parameters: 0.5,
      embedding_model: 0.3,
    },
    some_gone: { index_lost_documents: 2, corpus_changed: 2, golden_labels: 2.5 },
    many_gone: {
      index_lost_documents: 3,
      corpus_changed: 3.5,
      golden_labels: 0.5,
      index_parameters: -1.5,
      embedding_model: -1,
      deployment: -1,
      uncovered_topic: -1,
    },
  },
  golden_set: {
    same: { golden_labels: -0.3 },
    new_version: { golden_labels: 3 },
  },
  store_size: {
    steady: {
      index_lost_documents: -3,
      corpus_changed: 0.3,
      golden_labels: 0.5,
      index_parameters: 0.3,
      embedding_model: 0.2,
    },
    grew: { index_lost_documents: -2, corpus_changed: 0.7 },
    fell: {
      index_lost_documents: 3.5,
      corpus_changed: -1.5,
      golden_labels: -2,
      index_parameters: -1,
      uncovered_topic: -2,
    },
    emptied: { index_lost_documents: 5, corpus_changed: -4, golden_labels: -3, index_parameters: -3 },
  },
  ann_recall: {
    steady: { index_parameters: -4 },
    fell: { index_parameters: 4, embedding_model: -0.5, deployment: -1 },
  },
  index_settings: {
    same: {},
    changed: { index_parameters: 3 },
  },
  canary: {
    // The retriever may embed by another embedder than the one that is watched.
    same: { embedding_model: -2 },
    changed: { embedding_model: 5, index_parameters: -3, uncovered_topic: -4 },
  },
  embedder: {
    same: {},
    changed: { embedding_model: 3 },
  },
  deployment: {
    none: { deployment: -5 },
    index: { ...deployed, index_parameters: 0.7, index_lost_documents: 0.7, corpus_changed: 0.7 },
    embedder: { ...deployed, embedding_model: 1.5 },
    retriever: { ...deployed, retriever_outage: 0.5, retriever_slow: 0.5 },
    golden: { golden_labels: 1.5, deployment: -1 },
  },
  density: {
    steady: { uncovered_topic: -4 },
    fell: { uncovered_topic: 2.5, index_lost_documents: 0.5 },
    fell_new_questions: { uncovered_topic: 3.5, index_lost_documents: -1 },
    // Questions in other words may pass for the old ones; golden queries and the store tell which.
    fell_same_questions: { index_lost_documents: 2, uncovered_topic: 2.5 },
  },
  topics: {
    none: { uncovered_topic: -1.5 },
    new_demand: { uncovered_topic: 4 },
    lost_content: { index_lost_documents: 2 },
  },
  sentinel: {
    stands: { golden_labels: 0.3, retriever_outage: -0.5, retriever_slow: -0.5 },
    fallen: { retriever_outage: 0.5, index_lost_documents: 0.3, embedding_model: 0.3, deployment: 0.3 },
  },
  own_work: {
    done: { recalld: -4 },
    overdue: { recalld: 4 },
    failed: { recalld: 4 },
  },
};

/** What one sign says of a cause, in nats. */
export function weightOf(sign: Pick<Sign, 'name' | 'state'>, cause: NamedCause): number {
  const states: Readonly<Record<string, Weights>> = weights[sign.name];
  return states[sign.state]?.[cause] ?? 0;
}
