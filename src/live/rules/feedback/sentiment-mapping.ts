/** How a pipeline's config says what its feedback means. */
import type { FeedbackKind } from '../live-query.ts';

export const sentiments = ['positive', 'negative', 'neutral'] as const;

export type Sentiment = (typeof sentiments)[number];

/** What the number 0 means as a thumb; `true`, `false`, 1, -1 and words mean the same for everybody. */
export interface ThumbRule {
  /** `negative` where thumbs are 1 and 0, `neutral` where they are 1, 0 and -1. */
  readonly zero: 'negative' | 'neutral';
}

/** Numbers from `min` to `max`; what lies between `negativeTo` and `positiveFrom` is neutral. */
export interface Scale {
  readonly min: number;
  /** Infinity: no upper end. */
  readonly max: number;
  readonly positiveFrom: number;
  readonly negativeTo: number;
}

/**
 * What each kind means. A plain sentiment holds for every feedback of its kind, whatever its value: `click: 'neutral'`
 * leaves clicks out of the positive ratio.
 */
export interface SentimentMapping extends Readonly<Record<FeedbackKind, Sentiment | ThumbRule | Scale>> {
  readonly thumb: Sentiment | ThumbRule;
  readonly rating: Sentiment | Scale;
  readonly relevance: Sentiment | Scale;
  readonly click: Sentiment;
  readonly copy: Sentiment;
  readonly reformulation: Sentiment;
  readonly abandonment: Sentiment;
  readonly no_answer: Sentiment;
}

/** What is wrong with a scale, as the end of a sentence in the words of the config; null when it is sound. */
export function scaleProblem({ min, max, positiveFrom, negativeTo }: Scale): string | null {
  if (![min, positiveFrom, negativeTo].every(Number.isFinite)) return 'must be made of finite numbers';
  if (!(min < max)) return 'must have min below max';
  if (!(negativeTo < positiveFrom)) return 'must have negative_to below positive_from';
  if (!(min <= negativeTo)) return 'must have negative_to no lower than min, or nothing is negative';
  if (!(positiveFrom <= max)) return 'must have positive_from no higher than max, or nothing is positive';
  return null;
}
