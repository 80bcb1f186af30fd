/** How the kinds of feedback differ in what they tell and in how easily they are produced. */
import { type FeedbackKind, feedbackKinds } from '../live-query.ts';

/**
 * - `explicit`: the user said what they think (thumb, rating, relevance)
 * - `engagement`: the user went on with an answer (click, copy)
 * - `struggle`: the user did not get on (reformulation, abandonment, no_answer)
 */
export type KindGroup = 'explicit' | 'engagement' | 'struggle';

const groups = {
  thumb: 'explicit',
  rating: 'explicit',
  relevance: 'explicit',
  click: 'engagement',
  copy: 'engagement',
  reformulation: 'struggle',
  abandonment: 'struggle',
  no_answer: 'struggle',
} as const satisfies Record<FeedbackKind, KindGroup>;

/** The group of a kind. */
export function kindGroupOf(kind: FeedbackKind): KindGroup {
  return groups[kind];
}

/**
 * Which feedback a measure is taken from. Explicit opinions are rare and come from the pleased and the angry; implicit
 * ones come from everybody and say less. A measure over both follows the clicks, which are the most.
 */
export const feedbackBases = ['all', 'explicit', 'implicit'] as const;

export type FeedbackBasis = (typeof feedbackBases)[number];

/** The kinds of a basis, in the order of the contract. */
export function kindsOf(basis: FeedbackBasis): readonly FeedbackKind[] {
  if (basis === 'all') return feedbackKinds;
  return feedbackKinds.filter((kind) => (groups[kind] === 'explicit') === (basis === 'explicit'));
}
