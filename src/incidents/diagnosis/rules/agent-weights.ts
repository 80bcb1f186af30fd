/** Weights of causes that are faults of the agent that calls the retriever; see `weights.ts`. */
import type { NamedCause } from './cause.ts';
import { answersAsBefore, type SignWeights } from './sign-weights.ts';

/**
 * A fault in an agent changes the queries that the retriever receives, so golden queries, the store and its documents
 * are unaffected.
 */
const retrieverAsBefore: SignWeights = {
  ...answersAsBefore,
  failures: { none: 0.5, some: -3, most: -5 },
  live_errors: { some: -2.5, most: -4 },
  score: { steady: 1, unsure: -0.5, fell: -3.5 },
  results: { intact: 1, disturbed: -1, scrambled: -3 },
  order: { changed: -2 },
  documents: { vanished: -2, replaced: -3 },
  labels: { some_gone: -1, many_gone: -3 },
  store_size: { shrank: -0.5, fell: -3, emptied: -5 },
  ann_recall: { fell: -2.5 },
  index_documents: { missing: -3 },
  index_retrieval: { not_found: -2 },
  canary: { changed: -4 },
  density: { steady: 0.5, fell: -2, fell_new_questions: -2, fell_same_questions: -2.5 },
  sentinel: { fallen: -2.5 },
  own_work: { overdue: -2, failed: -2 },
};

export const agentWeights = {
  query_rewriting: {
    ...retrieverAsBefore,
    rewritten_queries: { as_before: -2, answers: 5 },
    rewrite_gain: { as_before: -1, fell: 3.5 },
    episode_calls: { stopped: -1.5 },
    language: { changed: -1 },
    feedback: { fell: 0.3 },
    live_relevance: { fell: 0.5 },
    top_query: { rose: -1 },
  },
  agent_loop: {
    ...retrieverAsBefore,
    episode_calls: { as_before: -0.5, fell: -0.3, rose: 0.5, stopped: 5 },
    episode_repeats: { as_before: -0.5, rose: 4 },
    repeated_queries: { rose: 4 },
    top_query: { rose: -5 },
    rewritten_queries: { answers: -3 },
    rewrite_gain: { fell: -1.5 },
    live_empty: { rose: -2 },
    feedback: { fell: 0.3 },
    live_relevance: { fell: 0.3 },
  },
} as const satisfies Readonly<Partial<Record<NamedCause, SignWeights>>>;
