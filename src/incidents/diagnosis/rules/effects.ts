/** Effects, and the causes that can explain each effect. A cause that explains no effect is not proposed. */
import type { NamedCause } from './cause.ts';

export const effectKinds = [
  'score',
  'failures',
  'latency',
  'labels',
  'forbidden',
  'live_errors',
  'live_empty',
  'feedback',
  'relevance',
  'judge',
  'density',
  'recall',
  'canary',
  'index_missing',
  'index_retrieval',
  'index_orphans',
  'index_late',
  'index_models',
  'store',
  'results',
  'context',
  'repeats',
  'traffic',
  'episode_calls',
  'episode_repeats',
  'rewritten_queries',
  'rewrite_gain',
  'runs',
] as const;

export type EffectKind = (typeof effectKinds)[number];

/** Names of the effects, as they follow "likely cause of" in a sentence. */
export const effectTitles: Readonly<Record<EffectKind, string>> = {
  score: 'the lower scores',
  failures: 'the failed queries',
  latency: 'the slow responses',
  labels: 'the missing judged documents',
  forbidden: 'the forbidden documents',
  live_errors: 'the failed live queries',
  live_empty: 'the live queries without results',
  feedback: 'the negative feedback',
  relevance: 'the lower live relevance',
  judge: "the judge's changed grades",
  density: 'the lower query density',
  recall: 'the lower index recall',
  canary: 'the changed embedding canary',
  index_missing: 'the documents missing from the index',
  index_retrieval: 'the documents not found by their own text',
  index_orphans: 'the orphaned documents in the index',
  index_late: 'the late index updates',
  index_models: 'the vectors from another model',
  store: 'the changed vectors in the store',
  results: 'the changed number of results',
  context: 'the changed context length',
  repeats: 'the repeated results',
  traffic: 'the changed mix of live queries',
  episode_calls: 'the changed number of calls per episode',
  episode_repeats: 'the repeated calls within episodes',
  rewritten_queries: 'the rewritten queries that look like answers',
  rewrite_gain: 'the lower rewrite gain',
  runs: 'the problems with golden runs',
};

/**
 * Reasons why the scores of queries dropped between two runs. `answers`: the query has different results. `present`:
 * the query has different results although its judged documents are still present; only judged documents of other
 * queries are lost.
 */
const lossParts = ['failed', 'timed_out', 'empty', 'stale', 'unshared', 'answers', 'present'] as const;

export type LossPart = (typeof lossParts)[number];

/** Reason for one part of an effect; `level` means that the score is low, but was never higher. */
export type EffectPart = LossPart | 'level';

/**
 * Size of an effect and, if known, the queries that contribute to it. The sizes of the parts add up to the size of the
 * effect.
 */
export interface Effect {
  readonly kind: EffectKind;
  /** Size of the effect: positive, or 0 if the failing measure has recovered. */
  readonly size: number;
  readonly parts: Readonly<Partial<Record<EffectPart, number>>> | null;
}

interface Reach {
  readonly moves: readonly EffectKind[];
  /** Parts of a score drop, or of the failures, that the cause can explain. */
  readonly through: readonly EffectPart[];
  /** Minimum share of failed queries at which the cause is possible. */
  readonly leastFailed?: number;
}

/** Minimum share of failed queries at which the retriever is considered down. */
const DOWN = 0.9;

/** An agent that does not find an answer calls the retriever again, and may then get the same documents. */
const retried = ['episode_calls', 'episode_repeats'] as const;
const calls = ['score', 'failures', 'live_errors', 'feedback', 'relevance', 'runs', ...retried] as const;
const answers = ['score', 'feedback', 'relevance', 'live_empty', ...retried] as const;
const judged = ['score', 'feedback', 'relevance', ...retried] as const;
const contents = ['labels', 'density', 'store', 'context', 'index_missing', 'index_orphans', 'index_late'] as const;

const answered = ['answers', 'present'] as const;

const lost = lossParts.filter((part) => part !== 'unshared');

export const reaches: Readonly<Record<NamedCause, Reach>> = {
  retriever_outage: { moves: [...calls, 'latency'], through: ['failed', 'timed_out'], leastFailed: DOWN },
  retriever_failing: { moves: calls, through: ['failed'] },
  retriever_slow: { moves: [...calls, 'latency'], through: ['timed_out'] },
  partial_results: {
    moves: [...answers, 'latency', 'results', 'context'],
    through: ['empty', ...answered],
  },
  cold_cache: { moves: ['score', 'failures', 'latency', 'live_errors', ...retried], through: ['timed_out'] },
  access_denied: { moves: calls, through: ['failed'] },
  rate_limited: { moves: calls, through: ['failed'] },
  error_page: { moves: calls, through: ['failed'] },
  empty_lists: { moves: answers, through: ['empty'] },
  filter: { moves: [...answers, 'results', 'context'], through: ['empty', ...answered] },
  live_traffic: {
    moves: [
      'traffic',
      'density',
      'live_errors',
      'live_empty',
      'feedback',
      'relevance',
      'results',
      'context',
      ...retried,
    ],
    through: [],
  },
  repeated_query: {
    moves: [
      'traffic',
      'live_errors',
      'live_empty',
      'latency',
      'feedback',
      'relevance',
      'density',
      'results',
      'context',
      ...retried,
    ],
    through: [],
  },
  other_language: {
    moves: ['traffic', 'density', 'live_empty', 'feedback', 'relevance', 'results', 'context', ...retried],
    through: [],
  },
  query_rewriting: {
    moves: ['rewritten_queries', 'rewrite_gain', 'feedback', 'relevance', 'live_empty', ...retried],
    through: [],
  },
  agent_loop: { moves: ['traffic', 'feedback', 'relevance', ...retried], through: [] },
  index_parameters: { moves: [...judged, 'recall', 'latency', 'index_retrieval'], through: [...answered] },
  index_lost_documents: {
    moves: [...answers, 'labels', 'density', 'store', 'index_missing'],
    through: ['empty', 'stale', 'answers'],
  },
  index_behind: { moves: ['index_late', 'index_missing', 'density', 'feedback', 'relevance', ...retried], through: [] },
  damaged_texts: { moves: [...judged, 'context', 'density', 'store'], through: [...answered] },
  duplicate_results: {
    moves: [...judged, 'repeats', 'context', 'store', 'index_orphans'],
    through: [...answered],
  },
  corpus_changed: { moves: [...judged, ...contents], through: ['stale', ...answered] },
  ids_renamed: {
    moves: ['score', 'labels', 'density', 'index_missing', 'index_orphans'],
    through: ['stale', ...answered],
  },
  old_index: { moves: [...answers, ...contents], through: ['empty', 'stale', ...answered] },
  split_index: { moves: [...answers, ...contents], through: ['empty', 'stale', ...answered] },
  one_segment: { moves: [...answers, 'failures', 'live_errors', 'labels', 'results', 'context'], through: lost },
  one_kind_of_query: {
    moves: [...answers, 'failures', 'live_errors', 'density', 'results', 'context'],
    through: lost,
  },
  foreign_answers: { moves: judged, through: [...answered] },
  random_answers: { moves: judged, through: [...answered] },
  cut_off_answers: { moves: [...judged, 'results', 'context'], through: [...answered] },
  ranking: { moves: judged, through: [...answered] },
  deployment: {
    moves: effectKinds.filter((kind) => kind !== 'runs' && kind !== 'judge' && kind !== 'traffic'),
    through: lost,
  },
  embedding_model: {
    moves: [...answers, 'density', 'canary', 'store', 'index_models', 'index_retrieval'],
    through: ['empty', ...answered],
  },
  uncovered_topic: { moves: ['density', 'live_empty', 'feedback', 'relevance', ...retried], through: [] },
  unlike_golden: { moves: ['traffic', 'feedback', 'relevance', 'results', 'context', ...retried], through: [] },
  generator: { moves: ['feedback'], through: [] },
  judge: { moves: ['judge', 'relevance'], through: [] },
  forbidden_documents: { moves: ['forbidden'], through: [] },
  golden_labels: { moves: ['score', 'labels'], through: ['stale', 'unshared', 'level'] },
  recalld: { moves: ['runs', 'latency'], through: [] },
};

/** Share of an effect that a cause can explain, 0 to 1. */
function explains(cause: NamedCause, { kind, size, parts }: Effect, failedShare: number | null): number {
  const { moves, through, leastFailed = 0 } = reaches[cause];
  if (!moves.includes(kind) || size <= 0) return 0;
  if (failedShare !== null && failedShare < leastFailed) return 0;
  if (parts === null) return 1;
  const moved = through.reduce((sum, part) => sum + Math.max(0, parts[part] ?? 0), 0);
  return Math.min(1, moved / size);
}

/** A cause that explains less than this share of all firing effects is not proposed. */
const MIN_EXPLAINED = 0.5;

/** True if a cause can explain most of one firing effect. */
export function canExplain(cause: NamedCause, effect: Effect, failedShare: number | null): boolean {
  return explains(cause, effect, failedShare) >= MIN_EXPLAINED;
}

/**
 * The unexplained part of an effect counts if it is at least this share of the effect. The unexplained part of a score
 * drop must also be at least MIN_SCORE_LEFT. If the unexplained part is at least SURE_SCORE_LEFT, it counts even if its
 * share is smaller, because a drop of this size alone would fire an alert.
 */
const MIN_LEFT = 0.25;
const MIN_SCORE_LEFT = 0.02;
const SURE_SCORE_LEFT = 0.05;

/**
 * Returns the part of an effect that the given causes do not explain; the entire effect if no cause explains any of it.
 * For example, failed calls do not explain a drop among successful queries. Returns null if the unexplained part is not
 * significant.
 */
export function leftBy(causes: readonly NamedCause[], effect: Effect, failedShare: number | null): Effect | null {
  const { kind, size, parts } = effect;
  if (size <= 0) return null;
  const able = causes.filter((cause) => explains(cause, effect, failedShare) > 0);
  if (able.length === 0) return effect;
  if (parts === null) return null;
  const moved = new Set(able.flatMap((cause) => reaches[cause].through));
  const left = Object.fromEntries(
    Object.entries(parts).filter(([part, of]) => of > 0 && !moved.has(part as EffectPart)),
  );
  const sum = Object.values(left).reduce((total, of) => total + of, 0);
  const isMuch = sum >= MIN_LEFT * size;
  const isLeft = kind === 'score' ? sum >= (isMuch ? MIN_SCORE_LEFT : SURE_SCORE_LEFT) : isMuch;
  return isLeft ? { kind, size: sum, parts: left } : null;
}

/** Returns true if a cause can explain at least one firing effect, or if there are no effects. */
export function isPossible(cause: NamedCause, effects: readonly Effect[], failedShare: number | null): boolean {
  return effects.length === 0 || effects.some((effect) => canExplain(cause, effect, failedShare));
}

/** Number of firing effects that a cause cannot explain. */
export function unexplainedBy(cause: NamedCause, effects: readonly Effect[], failedShare: number | null): number {
  return effects.filter((effect) => effect.size > 0 && !canExplain(cause, effect, failedShare)).length;
}
