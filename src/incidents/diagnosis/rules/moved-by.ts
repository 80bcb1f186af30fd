/** Signs that show how a failing measure changed. */
import type { EffectKind } from './effects.ts';
import type { SignName } from './signs.ts';

/** For each effect, the sign that shows the effect, followed by the states in which that sign shows it. */
export const movedBy: Readonly<Partial<Record<EffectKind, readonly [SignName, ...string[]]>>> = {
  latency: ['latency', 'rose'],
  labels: ['labels', 'some_gone', 'many_gone'],
  forbidden: ['forbidden', 'some'],
  live_errors: ['live_errors', 'some', 'most'],
  live_empty: ['live_empty', 'rose'],
  feedback: ['feedback', 'fell'],
  relevance: ['live_relevance', 'fell'],
  judge: ['judge', 'changed'],
  density: ['density', 'fell', 'fell_new_questions', 'fell_same_questions'],
  recall: ['ann_recall', 'fell'],
  canary: ['canary', 'changed'],
  index_missing: ['index_documents', 'missing'],
  index_retrieval: ['index_retrieval', 'not_found'],
  index_orphans: ['index_orphans', 'some'],
  index_late: ['index_arrivals', 'late'],
  index_models: ['index_models', 'mixed'],
  repeats: ['repeats', 'rose'],
  episode_calls: ['episode_calls', 'rose', 'stopped'],
  episode_repeats: ['episode_repeats', 'rose'],
  rewritten_queries: ['rewritten_queries', 'answers'],
  rewrite_gain: ['rewrite_gain', 'fell'],
  runs: ['own_work', 'overdue', 'failed'],
};
