/** Weights of causes that concern calls to the retriever: failures and latency; see `weights.ts`. */
import type { NamedCause } from './cause.ts';
import { answered, answersAsBefore, documentsAsBefore, type SignWeights, textsAsBefore } from './sign-weights.ts';

export const callWeights = {
  retriever_outage: {
    ...answersAsBefore,
    failures: { none: -5, some: -4, most: 4 },
    failure_kind: { errors: 1, timeouts: 0.5, denied: -5, throttled: -5, not_understood: -5 },
    live_errors: { none: -1.5, most: 5 },
    latency: { rose: -1 },
    sentinel: { stands: -0.5, fallen: 0.5 },
  },
  retriever_failing: {
    ...answersAsBefore,
    failures: { none: -4, some: 3.5, most: -2 },
    failure_kind: { errors: 0.5, timeouts: -2.5, denied: -4, throttled: -4, not_understood: -3 },
    live_errors: { none: -0.5, some: 3 },
    latency: { rose: -1 },
    segment: { one: -4 },
  },
  retriever_slow: {
    ...answersAsBefore,
    top_query: { rose: -1 },
    live_latency: { steady: -2, rose: 2.5 },
    failure_kind: { errors: -2, timeouts: 4, denied: -5, throttled: -3, not_understood: -5 },
    live_errors: { most: -0.5 },
    latency: { fell: -5, steady: -3.5, rose: 4 },
    warming: { falls: -2.5, stays: 0.7 },
    segment: { one: -2 },
  },
  partial_results: {
    ...answered,
    ...documentsAsBefore,
    ...textsAsBefore,
    // Only this sign distinguishes partial results from other faults of the search.
    changed_calls: { alike: -4, slower: 5, faster: -5 },
    latency: { fell: -4, steady: -2, rose: 1 },
    live_latency: { steady: -1, rose: 1 },
    results: { intact: -3 },
    order: { changed: -0.5 },
    variety: { collapsed: -3 },
    again: { repeats: -2 },
    older_answers: { alike: -3 },
    foreign_lists: { some: -3 },
    segment: { one: -2 },
    canary: { changed: -3 },
    missed_vectors: { own: 0.3, foreign: -3 },
    returned_documents: { absent: -3 },
    common_document: { rose: -2 },
    changed_lists: { in_part: 0.5, whole: -1.5 },
  },
  cold_cache: {
    ...answersAsBefore,
    failures: { most: -3 },
    failure_kind: { errors: -3, denied: -5, throttled: -4, not_understood: -5 },
    latency: { fell: -5, steady: -1.5, rose: 1.5 },
    warming: { falls: 4, stays: -4 },
    live_latency: { steady: -0.5, rose: 0.5 },
  },
  access_denied: {
    ...answersAsBefore,
    failures: { none: -5, some: 0.5, most: 3 },
    live_errors: { none: -0.5, some: 1, most: 2 },
    failure_kind: { errors: -5, timeouts: -5, denied: 5, throttled: -5, not_understood: -5 },
  },
  rate_limited: {
    ...answersAsBefore,
    failures: { none: -5, some: 0.5, most: 3 },
    live_errors: { none: -0.5, some: 1, most: 2 },
    failure_kind: { errors: -5, timeouts: -5, denied: -5, throttled: 5, not_understood: -5 },
  },
  error_page: {
    ...answersAsBefore,
    failures: { none: -5, some: 0.5, most: 3 },
    live_errors: { none: -0.5, some: 1, most: 2 },
    failure_kind: { errors: -5, timeouts: -5, denied: -5, throttled: -5, not_understood: 5 },
  },
} as const satisfies Readonly<Partial<Record<NamedCause, SignWeights>>>;
