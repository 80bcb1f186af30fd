/**
 * What one feedback is: positive, negative or neutral, the number that is stored for it, and its id where the sender
 * gave none; and the share of positive opinions among those that are positive or negative.
 */

import { ALL_SEGMENT } from '../../../core/model.ts';
import { wilsonInterval } from '../../../math/stats/intervals.ts';
import type { Feedback, FeedbackKind } from '../live-query.ts';
import { type InsufficientFeedback, tooFew } from './click-rates.ts';
import { type FeedbackBasis, kindsOf } from './user-cap.ts';

/** How a pipeline's config says what its feedback means. */
export const sentiments = ['positive', 'negative', 'neutral'] as const;

export type Sentiment = (typeof sentiments)[number];

/** What the number 0 means as a thumb; `true`, `false`, 1, -1 and words mean the same for everybody. */
interface ThumbRule {
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

/** The many spellings of a thumb. */
const up = ['up', 'thumb_up', 'thumbup', 'thumbs_up', 'thumbsup', 'like', 'liked', 'good', 'helpful', 'positive'];
const alsoUp = ['yes', 'true', '1', '+1'];
const down = ['down', 'thumb_down', 'thumbdown', 'thumbs_down', 'thumbsdown', 'dislike', 'disliked', 'bad'];
const alsoDown = ['unhelpful', 'not_helpful', 'negative', 'no', 'false', '-1'];
const takenBack = ['none', 'neutral'];

const words: ReadonlyMap<string, -1 | 0 | 1> = new Map([
  ...[...up, ...alsoUp].map((word) => [word, 1] as const),
  ...[...down, ...alsoDown].map((word) => [word, -1] as const),
  ...takenBack.map((word) => [word, 0] as const),
]);

/**
 * 1 for a thumb up, -1 for one down, 0 for one that was taken back, null for what is no thumb.
 *
 * - up: true, 1, and the words up, thumb up, thumbs up, like, liked, good, helpful, positive, yes, true, 1, +1
 * - down: false, -1, and down, thumb down, thumbs down, dislike, disliked, bad, unhelpful, not helpful, negative, no,
 *   false, -1
 * - taken back: none and neutral
 * - the number 0 and the word 0: as `zero` says
 *
 * Words count in any case, the two of `thumbs up` apart, with a blank, hyphen or underscore between them, or together.
 */
function thumbOf(value: Feedback['value'], zero: ThumbRule['zero']): -1 | 0 | 1 | null {
  const ofZero = zero === 'negative' ? -1 : 0;
  if (typeof value === 'boolean') return value ? 1 : -1;
  if (typeof value === 'number') return value === 0 ? ofZero : value === 1 || value === -1 ? value : null;
  if (value === null) return null;
  const word = value.trim().toLowerCase();
  if (word === '0') return ofZero;
  // The hyphen of -1 is a sign and stays.
  return words.get(word) ?? words.get(word.replaceAll(/(?<=[a-z])[\s-]+(?=[a-z])/g, '_')) ?? null;
}

/** The outcome for a value that fits its kind. */
export interface SentimentReading {
  readonly kind: 'reading';
  readonly sentiment: Sentiment;
  /**
   * Thumb: 1 up, -1 down, 0 neither. Rating and relevance: the number as it was given, a relevance of true or false as
   * 1 or 0. Other kinds: 1, it happened.
   */
  readonly value: number;
}

/** The value does not fit its kind; at the edge this is the rejection `invalid_field`. */
interface SentimentRefusal {
  readonly kind: 'refused';
  /** One sentence that names the field and what fits; it never quotes what was sent. */
  readonly message: string;
}

/**
 * Reads a feedback by the mapping of its pipeline.
 *
 * - thumb: true or false, 1, 0 or -1, or one of the words of `thumbOf`
 * - rating: a number on the scale
 * - relevance: a grade on the scale, or true or false for 1 and 0
 * - all other kinds: no value, or true or 1, which say no more than that it happened. What did not happen is not sent,
 *   and a text (of a reformulation, say) has no place here, because values are stored as they are
 */
export function sentimentOf(
  feedback: Pick<Feedback, 'kind' | 'value'>,
  mapping: SentimentMapping,
): SentimentReading | SentimentRefusal {
  const { kind, value } = feedback;
  switch (kind) {
    case 'thumb':
      return readThumb(value, mapping.thumb);
    case 'rating':
      return readScale('rating', value, mapping.rating);
    case 'relevance':
      return readScale('relevance', typeof value === 'boolean' ? Number(value) : value, mapping.relevance);
    case 'click':
    case 'copy':
    case 'reformulation':
    case 'abandonment':
    case 'no_answer':
      if (value === null || value === true || value === 1) return reading(mapping[kind], 1);
      return refused(`value must be left out for ${kind}, which says only that it happened.`);
  }
}

function readThumb(value: Feedback['value'], rule: Sentiment | ThumbRule): SentimentReading | SentimentRefusal {
  const thumb = thumbOf(value, typeof rule === 'string' ? 'negative' : rule.zero);
  if (thumb === null) {
    return refused('value must be up or down, true or false, or 1, 0 or -1 for a thumb.');
  }
  if (typeof rule === 'string') return reading(rule, thumb);
  if (thumb === 0) return reading('neutral', thumb);
  return reading(thumb > 0 ? 'positive' : 'negative', thumb);
}

function readScale(
  kind: 'rating' | 'relevance',
  value: Feedback['value'],
  scale: Sentiment | Scale,
): SentimentReading | SentimentRefusal {
  const number = typeof value === 'number' && Number.isFinite(value) ? value : null;
  if (typeof scale === 'string') {
    return number === null ? refused(`value must be a number for a ${kind}.`) : reading(scale, number);
  }
  if (number === null || number < scale.min || number > scale.max) {
    const range =
      scale.max === Number.POSITIVE_INFINITY ? `of at least ${scale.min}` : `from ${scale.min} to ${scale.max}`;
    return refused(`value must be a number ${range} for a ${kind}; the config of the pipeline sets the scale.`);
  }
  if (number >= scale.positiveFrom) return reading('positive', number);
  return reading(number <= scale.negativeTo ? 'negative' : 'neutral', number);
}

function reading(sentiment: Sentiment, value: number): SentimentReading {
  return { kind: 'reading', sentiment, value };
}

function refused(message: string): SentimentRefusal {
  return { kind: 'refused', message };
}

/**
 * A keyed hash such as HMAC-SHA-256, written in characters that an id may hold. Keyed, because the hashed text holds
 * the comment, which somebody could otherwise guess and confirm.
 */
type KeyedHash = (text: string) => string;

/** Separates these hashes from every other use of the same key. */
const DOMAIN = 'recalld/feedback-id/v1';

/**
 * The id of a feedback within its pipeline: the given one, else one derived from all that it says. Storing an id a
 * second time changes no count.
 *
 * - A retry sends the same words and so has the same id.
 * - A changed mind (thumb up, then down) has another value, so it is a new feedback. Which of them counts is decided
 *   when opinions are tallied (`OpinionTally`), not here.
 * - A mind that changed back (up, down, up) has a new id when its sender gives `occurred_at`. Without it, the third
 *   feedback has the id of the first and cannot be told from a retry of it: see `mayRepeat`.
 * - Values that mean the same in other spellings have other ids; as they are one opinion, they still count once.
 *
 * @param author the keyed hash of the user as it is stored, null for anonymous feedback
 */
export function feedbackId(feedback: Feedback, author: string | null, hash: KeyedHash): string {
  if (feedback.id !== null) return feedback.id;
  const { pipeline, queryId, kind, documentId, rank, value, comment } = feedback;
  const occurredAt = feedback.occurredAt?.toISOString() ?? null;
  // JSON keeps the parts apart whatever characters they hold, and the number 1 apart from the word.
  const parts = [DOMAIN, pipeline, queryId, kind, documentId, rank, author, value, occurredAt, comment];
  return `derived-${hash(JSON.stringify(parts))}`;
}

/**
 * How long after a feedback the same words without id and time are taken for a retry of it. Later ones are taken for
 * a mind that changed back: HTTP clients give up sooner, and who clicks twice within a minute sends a time or an id.
 */
export const FEEDBACK_RETRY_MS = 60_000;

/**
 * Whether the same words again, under the same id, may be a mind that changed back. The store then gives the first
 * feedback the time of the repeat, if that comes `FEEDBACK_RETRY_MS` or more after it, so that the last word counts.
 */
export function mayRepeat({ id, occurredAt }: Pick<Feedback, 'id' | 'occurredAt'>): boolean {
  return id === null && occurredAt === null;
}

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
