/**
 * What each cause can bring about, and how much of what is in alarm that is. A cause that cannot produce the effect is
 * not offered: a slow retriever moves no score but that of the queries that timed out, and queries that failed lower a
 * mean by no more than their own scores.
 */
import type { NamedCause } from './cause.ts';

/** What can be in alarm. */
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
  'index',
  'runs',
] as const;

export type EffectKind = (typeof effectKinds)[number];

/** The queries that a fall or a rise is made of. */
export const effectParts = ['failed', 'timed_out', 'empty', 'stale', 'unshared', 'answers'] as const;

export type EffectPart = (typeof effectParts)[number];

/** How much of something is in alarm, and, where it is known, which queries make it up; the parts sum to the size. */
export interface Effect {
  readonly kind: EffectKind;
  /** Above 0; 0 where the measure in alarm is as it was before. */
  readonly size: number;
  readonly parts: Readonly<Partial<Record<EffectPart, number>>> | null;
}

interface Reach {
  readonly moves: readonly EffectKind[];
  /** The parts of a score or of failures that it moves. */
  readonly through: readonly EffectPart[];
  /** Least share of the queries that must have failed. */
  readonly leastFailed?: number;
}

/** Below this share of failed queries nobody is down. */
export const DOWN = 0.9;

const calls = ['score', 'failures', 'live_errors', 'feedback', 'relevance', 'runs'] as const;
const answers = ['score', 'feedback', 'relevance', 'live_empty'] as const;

export const reaches: Readonly<Record<NamedCause, Reach>> = {
  retriever_outage: { moves: [...calls, 'latency'], through: ['failed', 'timed_out'], leastFailed: DOWN },
  retriever_failing: { moves: calls, through: ['failed'] },
  retriever_slow: { moves: [...calls, 'latency'], through: ['timed_out'] },
  cold_cache: { moves: ['score', 'failures', 'latency', 'live_errors'], through: ['timed_out'] },
  access_denied: { moves: calls, through: ['failed'] },
  rate_limited: { moves: calls, through: ['failed'] },
  error_page: { moves: calls, through: ['failed'] },
  empty_lists: { moves: answers, through: ['empty'] },
  filter: { moves: answers, through: ['empty', 'answers'] },
  live_traffic: { moves: ['live_errors', 'live_empty', 'feedback', 'relevance'], through: [] },
  index_parameters: { moves: ['score', 'feedback', 'relevance', 'recall', 'latency'], through: ['answers'] },
  index_lost_documents: { moves: [...answers, 'labels', 'density', 'index'], through: ['empty', 'stale', 'answers'] },
  index_behind: { moves: ['index', 'density', 'feedback', 'relevance'], through: [] },
  corpus_changed: {
    moves: ['score', 'feedback', 'relevance', 'labels', 'density', 'index'],
    through: ['stale', 'answers'],
  },
  ids_renamed: { moves: ['score', 'labels', 'density'], through: ['stale', 'answers'] },
  old_index: { moves: [...answers, 'labels', 'density', 'index'], through: ['empty', 'stale', 'answers'] },
  split_index: { moves: [...answers, 'labels', 'density', 'index'], through: ['empty', 'stale', 'answers'] },
  one_segment: {
    moves: [...answers, 'failures', 'live_errors', 'labels'],
    through: ['failed', 'timed_out', 'empty', 'stale', 'answers'],
  },
  random_answers: { moves: ['score', 'feedback', 'relevance'], through: ['answers'] },
  cut_off_answers: { moves: ['score', 'feedback', 'relevance'], through: ['answers'] },
  ranking: { moves: ['score', 'feedback', 'relevance'], through: ['answers'] },
  deployment: {
    moves: effectKinds.filter((kind) => kind !== 'runs' && kind !== 'judge'),
    through: effectParts.filter((part) => part !== 'unshared'),
  },
  embedding_model: { moves: [...answers, 'density', 'canary', 'index'], through: ['empty', 'answers'] },
  uncovered_topic: { moves: ['density', 'live_empty', 'feedback', 'relevance'], through: [] },
  unlike_golden: { moves: ['feedback', 'relevance'], through: [] },
  judge: { moves: ['judge', 'relevance'], through: [] },
  forbidden_documents: { moves: ['forbidden'], through: [] },
  golden_labels: { moves: ['score', 'labels'], through: ['stale', 'unshared'] },
  recalld: { moves: ['runs'], through: [] },
};

/** The share of an effect that a cause can bring about, 0..1. */
export function explains(cause: NamedCause, { kind, size, parts }: Effect, failedShare: number | null): number {
  const { moves, through, leastFailed = 0 } = reaches[cause];
  if (!moves.includes(kind) || size <= 0) return 0;
  if (failedShare !== null && failedShare < leastFailed) return 0;
  if (parts === null) return 1;
  const moved = through.reduce((sum, part) => sum + Math.max(0, parts[part] ?? 0), 0);
  return Math.min(1, moved / size);
}

/** A cause that brings about less than this share of everything in alarm is not offered. */
const MIN_EXPLAINED = 0.5;

/** Whether a cause can be behind at least one thing that is in alarm; without knowing of any, every cause can. */
export function isPossible(cause: NamedCause, effects: readonly Effect[], failedShare: number | null): boolean {
  return effects.length === 0 || effects.some((effect) => explains(cause, effect, failedShare) >= MIN_EXPLAINED);
}

/** What each thing in alarm that a cause leaves unexplained says against it, in nats. */
const UNEXPLAINED = -1.5;

export function weightOfUnexplained(cause: NamedCause, effects: readonly Effect[], failedShare: number | null): number {
  const left = effects.filter(
    (effect) => effect.size > 0 && explains(cause, effect, failedShare) < MIN_EXPLAINED,
  ).length;
  return left * UNEXPLAINED;
}
