/** The share of positive opinions among those that are positive or negative. */
import { ALL_SEGMENT } from '../../../model.ts';
import { wilsonInterval } from '../../../stats/intervals.ts';
import type { FeedbackKind } from '../live-query.ts';
import { type InsufficientFeedback, tooFew } from './click-rates.ts';
import type { Sentiment } from './sentiment.ts';
import { type FeedbackBasis, kindsOf } from './user-cap.ts';

/** Counted latest opinions; neutral ones are in neither number. */
export interface OpinionCounts {
  readonly positive: number;
  readonly negative: number;
}

/** 95 % bounds; 0 <= low <= value <= high <= 1. */
export interface PositiveRatio extends OpinionCounts {
  readonly kind: 'ratio';
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Opinions that are positive or negative. */
  readonly n: number;
}

export type PositiveRatioOutcome = PositiveRatio | InsufficientFeedback;

/**
 * How much was said alike in a window. One user has one opinion of each kind on a query, or on each of its documents
 * (known by their ids, else by their ranks); anonymous feedback on one query is taken to be one user's. Of an opinion
 * the latest feedback counts: what occurred last, then what was received last, then the greater id. It is within the
 * cap of its user iff any of its feedback was, so that a user who changes their mind beyond the cap still has the last
 * word on what was counted before.
 */
export interface OpinionTally {
  readonly kind: FeedbackKind;
  /** What the latest feedback of the opinions says. */
  readonly sentiment: Sentiment;
  /** Names of the bounded segments of their queries (`key=value`, or `other`); none while a query is not known. */
  readonly segments: readonly string[];
  /** All feedback, also what later words replaced and what is beyond a cap. */
  readonly feedback: number;
  /** Opinions within the caps of their users. */
  readonly opinions: number;
}

export interface FeedbackWindow {
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

const CONFIDENCE = 0.95;

/**
 * positive / (positive + negative) with the score interval of Wilson 1927.
 *
 * Feedback is not sampled: services send all of it, on queries that were kept and on others, so each opinion weighs 1.
 * The interval takes opinions as independent. Those of one user are not; the cap for each user limits by how much the
 * interval is then too narrow.
 *
 * @param fewest opinions from which a ratio is worth saying, >= 1
 * @throws RangeError for a count that is no integer >= 0
 */
export function positiveRatio({ positive, negative }: OpinionCounts, fewest = 1): PositiveRatioOutcome {
  for (const count of [positive, negative]) {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw new RangeError(`A number of opinions must be an integer of at least 0, not ${count}.`);
    }
  }
  const n = positive + negative;
  const need = Math.max(1, fewest);
  if (n < need) return tooFew('opinions', n, need);
  const value = positive / n;
  const { low, high } = wilsonInterval(value, n, CONFIDENCE);
  // Rounding can carry a bound past the value by a last digit.
  return {
    kind: 'ratio',
    value,
    low: Math.min(low, value),
    high: Math.max(high, value),
    n,
    positive,
    negative,
  };
}

/**
 * The positive ratios of a window, for all feedback (`all`) and for each segment that occurs in it. Feedback whose query
 * is not known, or was not sampled, is in `all`.
 *
 * @param basis which kinds count; the mapping may have made some of them neutral
 * @param fewest as in `positiveRatio`
 */
export function positiveRatios(
  tallies: readonly OpinionTally[],
  basis: FeedbackBasis = 'all',
  fewest = 1,
): ReadonlyMap<string, PositiveRatioOutcome> {
  const kinds = new Set(kindsOf(basis));
  const counts = new Map([[ALL_SEGMENT, { positive: 0, negative: 0 }]]);
  for (const { kind, sentiment, segments, opinions } of tallies) {
    if (!kinds.has(kind)) continue;
    for (const segment of new Set([ALL_SEGMENT, ...segments])) {
      const count = counts.get(segment) ?? { positive: 0, negative: 0 };
      counts.set(segment, count);
      if (sentiment !== 'neutral') count[sentiment] += opinions;
    }
  }
  return new Map([...counts].map(([segment, count]) => [segment, positiveRatio(count, fewest)]));
}
