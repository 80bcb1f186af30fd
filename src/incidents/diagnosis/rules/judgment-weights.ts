/** Weights of causes that concern judgments: the judge, forbidden documents and the golden set; see `weights.ts`. */
import type { NamedCause } from './cause.ts';
import { answered, type SignWeights, textsAsBefore } from './sign-weights.ts';

export const judgmentWeights = {
  judge: {
    judge: { same: -5, changed: 5 },
    failures: { some: -3, most: -5 },
    score: { fell: -2.5 },
    results: { scrambled: -2 },
    density: { fell: -1, fell_new_questions: -1, fell_same_questions: -1 },
  },
  forbidden_documents: {
    ...answered,
    forbidden: { none: -5, some: 5 },
  },
  golden_labels: {
    ...answered,
    ...textsAsBefore,
    level: { was_higher: -0.3, always_low: 1 },
    opinions: { agree: -2, higher: 3 },
    feedback: { as_before: 0.3, fell: -2 },
    empty_answers: { some: -1, most: -4 },
    answer_length: { cut: -2, thinned: -2 },
    score: { steady: 0.5, fell: -2 },
    results: { intact: 0.7, disturbed: -1, scrambled: -2.5 },
    documents: { same: 0.5, vanished: -1, replaced: -2.5 },
    variety: { collapsed: -4 },
    gone_documents: { lost: -4, superseded: 1.5, deleted: 5 },
    labels: { alive: -1, some_gone: 2.5, many_gone: -0.5 },
    golden_set: { same: -0.3, new_version: 3 },
    live_relevance: { as_before: 0.5, fell: -1.5 },
    store_size: { steady: 0.5, fell: -2, emptied: -4 },
    deployment: { golden: 1.5 },
    store_agreement: { as_before: 0.5, fell_near: -2, fell_far: -3, rose: -2 },
    missed_vectors: { foreign: -3 },
    retrieval_scores: { of_documents: -2, of_queries: -2, most: -2 },
  },
} as const satisfies Readonly<Partial<Record<NamedCause, SignWeights>>>;
