/** Types of sign weights, and weights that several causes share. */
import type { SignName, signStates } from './signs.ts';

/** Weights in nats, keyed by sign and state. */
export type SignWeights = {
  readonly [Name in SignName]?: Readonly<Partial<Record<(typeof signStates)[Name][number], number>>>;
};

/** Weights of signs that occur only when texts are truncated or repeated, or when results belong to another query. */
export const textsAsBefore: SignWeights = {
  foreign_lists: { some: -4 },
  common_document: { rose: -3 },
  query_kind: { one: -2.5 },
  repeats: { rose: -2.5 },
  text_length: { fell: -2.5 },
};

/** Weights of signs that occur only when the retriever's results change. */
export const answersAsBefore: SignWeights = {
  empty_answers: { some: -1.5, most: -4 },
  answer_length: { cut: -2, thinned: -2 },
  score: { fell: -2.5 },
  results: { disturbed: -1, scrambled: -2.5 },
  documents: { vanished: -1.5, replaced: -2.5 },
  variety: { collapsed: -4 },
  store_agreement: { fell_near: -2, fell_far: -2.5, rose: -2 },
  missed_vectors: { foreign: -3 },
  returned_documents: { absent: -2 },
  live_replay: { as_before: 0.5, all_differ: -2.5 },
  ...textsAsBefore,
};

/** Weights of signs that occur only when documents change. */
export const documentsAsBefore: SignWeights = {
  labels: { many_gone: -3, some_gone: -1, alive: 0.5 },
  store_size: { emptied: -5, fell: -2.5, steady: 0.3 },
  returned_documents: { absent: -2.5 },
};

/** Weights of signs of a fault in the retriever or its index; such a fault affects both live and golden queries. */
export const answered: SignWeights = {
  // A failing retriever hides other faults.
  failures: { most: -3 },
  live_replay: { as_before: -0.5, live_differs: -2, all_differ: 0.7 },
  missed_texts: { cut: -3, changed: -2.5 },
  removed_words: { end_ignored: -5, all_ignored: -2, restore: -2 },
};
