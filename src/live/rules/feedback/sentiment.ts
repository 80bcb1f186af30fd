import { ALL_SEGMENT } from '../../../core/model.ts';
import { wilsonInterval } from '../../../math/stats/intervals.ts';
import type { Feedback, OpinionKind } from '../live-query.ts';
import { tooFew } from './click-rates.ts';
import { type FeedbackBasis, kindsOf } from './user-cap.ts';

export const sentiments = ['positive', 'negative', 'neutral'] as const;

export type Sentiment = (typeof sentiments)[number];

/** A scale from `min` to `max`; values between `negative_to` and `positive_from` are neutral. */
export interface Scale {
  readonly min: number;
  /** Unlimited if missing. */
  readonly max?: number | undefined;
  readonly positive_from: number;
  readonly negative_to: number;
}

/**
 * Interpretation of each kind of feedback, from the config. A sentiment applies to all feedback of its kind; for
 * example, `click: 'neutral'` excludes clicks from the positive ratio.
 */
export interface SentimentMapping
  extends Readonly<Record<Exclude<OpinionKind, 'thumb' | 'rating' | 'relevance'>, Sentiment>> {
  /** Sentiment of the thumb value 0: `negative` if the thumb values are 1 and 0; `neutral` if they are 1, 0 and -1. */
  readonly thumb_zero: 'negative' | 'neutral';
  readonly rating: Scale;
  readonly relevance: Scale;
}

/**
 * Describes what is wrong with a scale, as the end of a sentence that uses the names of the config fields; null if the
 * scale is valid.
 */
export function scaleProblem({
  min,
  max = Number.POSITIVE_INFINITY,
  positive_from: positiveFrom,
  negative_to: negativeTo,
}: Scale): string | null {
  if (!(min < max)) return 'must have min below max';
  if (!(negativeTo < positiveFrom)) return 'must have negative_to below positive_from';
  if (!(min <= negativeTo)) return 'must have negative_to at or above min; otherwise no value is negative';
  if (!(positiveFrom <= max)) return 'must have positive_from at or below max; otherwise no value is positive';
  return null;
}

const up = 'up thumb_up thumbup thumbs_up thumbsup like liked good helpful positive yes true 1 +1';
const down =
  'down thumb_down thumbdown thumbs_down thumbsdown dislike disliked bad unhelpful not_helpful negative no false -1';

const words: ReadonlyMap<string, -1 | 0 | 1> = new Map([
  ...up.split(' ').map((word) => [word, 1] as const),
  ...down.split(' ').map((word) => [word, -1] as const),
  ['none', 0],
  ['neutral', 0],
]);

/**
 * Returns 1 for thumbs up, -1 for thumbs down, 0 for a retracted thumb, and null for an invalid value.
 *
 * Words are case-insensitive. Two words may be joined, or separated by a space, hyphen or underscore.
 */
function thumbOf(value: Feedback['value'], zero: SentimentMapping['thumb_zero']): -1 | 0 | 1 | null {
  const ofZero = zero === 'negative' ? -1 : 0;
  if (typeof value === 'boolean') return value ? 1 : -1;
  if (typeof value === 'number') return value === 0 ? ofZero : value === 1 || value === -1 ? value : null;
  if (value === null) return null;
  const word = value.trim().toLowerCase();
  if (word === '0') return ofZero;
  // Looks up the unchanged word first, because the hyphen in -1 must be kept.
  return words.get(word) ?? words.get(word.replaceAll(/(?<=[a-z])[\s-]+(?=[a-z])/g, '_')) ?? null;
}

/**
 * Interprets feedback according to the mapping of its pipeline.
 *
 * - thumb: true or false, 1, 0 or -1, or one of the words of `thumbOf`.
 * - rating: a number on the scale.
 * - relevance: a grade on the scale, or true (which means 1) or false (which means 0).
 * - other kinds: no value, true, or 1. Texts, such as a reformulated query, are rejected, because values are stored
 *   unredacted. A citation is neutral and must name a document.
 */
export function sentimentOf({ kind, value, documentId }: Feedback, mapping: SentimentMapping) {
  switch (kind) {
    case 'thumb':
      return readThumb(value, mapping.thumb_zero);
    case 'rating':
      return readScale('rating', value, mapping.rating);
    case 'relevance':
      return readScale('relevance', typeof value === 'boolean' ? Number(value) : value, mapping.relevance);
    case 'click':
    case 'copy':
    case 'reformulation':
    case 'abandonment':
    case 'no_answer':
    case 'citation':
      if (kind === 'citation' && documentId === null)
        return refused('document_id is missing; set it to the document that the answer cites.');
      if (value === null || value === true || value === 1)
        return reading(kind === 'citation' ? 'neutral' : mapping[kind], 1);
      return refused(`value must be omitted for ${kind}, because feedback of this kind has no value.`);
  }
}

function readThumb(value: Feedback['value'], zero: SentimentMapping['thumb_zero']) {
  const thumb = thumbOf(value, zero);
  if (thumb === null)
    return refused('For feedback of the kind thumb, value must be up or down, true or false, or 1, 0 or -1.');
  if (thumb === 0) return reading('neutral', thumb);
  return reading(thumb > 0 ? 'positive' : 'negative', thumb);
}

function readScale(kind: 'rating' | 'relevance', value: Feedback['value'], scale: Scale) {
  const { min, max = Number.POSITIVE_INFINITY } = scale;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max) {
    const range = max === Number.POSITIVE_INFINITY ? `of at least ${min}` : `from ${min} to ${max}`;
    return refused(`value must be a number ${range} for a ${kind}; the pipeline config sets the scale.`);
  }
  if (value >= scale.positive_from) return reading('positive', value);
  return reading(value <= scale.negative_to ? 'negative' : 'neutral', value);
}

export type SentimentReading = ReturnType<typeof reading>;

/** @param value thumb: 1 up, -1 down, 0 neither; rating and relevance: the number as sent; other kinds: 1 */
function reading(sentiment: Sentiment, value: number) {
  return { kind: 'reading' as const, sentiment, value };
}

/** @param message names the field and its valid values; never quotes the value that was sent */
function refused(message: string) {
  return { kind: 'refused' as const, message };
}

/**
 * Returns the keyed hash of a text, in characters that are valid in an id. Without a key, an attacker could guess a
 * comment and confirm the guess.
 */
type KeyedHash = (text: string) => string;

/** Domain prefix that separates these hashes from all other uses of the same key. */
const DOMAIN = 'recalld/feedback-id/v1';

/**
 * Returns the id of a feedback item within its pipeline: the given id, or one derived from its content. Storing the
 * same id again does not change any count.
 *
 * - A retry has the same content and therefore the same id.
 * - A changed opinion (thumb up, then down) has another value, so it is new feedback. `OpinionTally` explains which of
 *   the two items is counted.
 * - An opinion that changes back (up, down, up) has a new id if the sender sets `occurred_at`. Without `occurred_at`,
 *   the second `up` has the id of the first `up` and looks like a retry: see `mayRepeat`.
 * - Different spellings of the same value have different ids, but count once because they are the same opinion.
 *
 * @param author the stored keyed hash of the user; null if the feedback is anonymous
 */
export function feedbackId(feedback: Feedback, author: string | null, hash: KeyedHash): string {
  if (feedback.id !== null) return feedback.id;
  const { pipeline, queryId, kind, documentId, rank, value, comment } = feedback;
  const occurredAt = feedback.occurredAt?.toISOString() ?? null;
  // JSON separates the parts unambiguously, and distinguishes the number 1 from the string "1".
  const parts = [DOMAIN, pipeline, queryId, kind, documentId, rank, author, value, occurredAt, comment];
  return `derived-${hash(JSON.stringify(parts))}`;
}

/**
 * Within this time, identical feedback without an id or a time counts as a retry. After this time, identical feedback
 * means that the user has returned to an earlier opinion. HTTP clients stop retrying before this time has passed.
 */
export const FEEDBACK_RETRY_MS = 60_000;

/**
 * True if a repeat under the same id may mean that the user has returned to an earlier opinion. If the repeat arrives
 * at least `FEEDBACK_RETRY_MS` after the first item, the store moves the first item to the time of the repeat, so that
 * the first item becomes the latest opinion.
 */
export function mayRepeat({ id, occurredAt }: Feedback): boolean {
  return id === null && occurredAt === null;
}

/** Numbers of counted opinions, excluding neutral opinions. */
export interface OpinionCounts {
  readonly positive: number;
  readonly negative: number;
}

/**
 * Share of positive opinions with 95 % bounds: 0 <= low <= value <= high <= 1. `n` is the number of positive and
 * negative opinions.
 */
export type PositiveRatioOutcome = ReturnType<typeof positiveRatio>;

/**
 * Number of opinions in one window that have the same kind, sentiment and segments. A user has one opinion of each kind
 * per query, or per document of the query (identified by id or, if there is none, by rank). All anonymous feedback on a
 * query is treated as coming from one user. The latest feedback determines an opinion. If several items have the same
 * time of occurrence, the item received last decides. If they were also received at the same time, the item with the
 * greatest id decides. An opinion is within the cap if at least one of its feedback items is within the cap, so that
 * users can still change a counted opinion after reaching the cap.
 */
export interface OpinionTally {
  readonly kind: OpinionKind;
  readonly sentiment: Sentiment;
  /** Segments of the queries: `key=value`, or `other` beyond the maximum number; empty if the query is unknown. */
  readonly segments: readonly string[];
  /** Number of feedback items, including replaced items and items beyond a cap. */
  readonly feedback: number;
  /** Number of opinions within the caps per user. */
  readonly opinions: number;
}

const CONFIDENCE = 0.95;

/**
 * Computes positive / (positive + negative) with the score interval of Wilson (1927).
 *
 * Feedback is not sampled: services send all of it, including feedback on unsampled queries, so each opinion counts
 * once. The interval assumes independent opinions. Opinions from the same user are not independent, but the cap per
 * user limits the resulting error.
 *
 * @param minN minimum number of opinions, >= 1
 * @throws RangeError for a count that is not an integer >= 0
 */
export function positiveRatio({ positive, negative }: OpinionCounts, minN = 1) {
  for (const count of [positive, negative]) {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw new RangeError(`The number of opinions is ${count}; it must be an integer of at least 0.`);
    }
  }
  const n = positive + negative;
  const need = Math.max(1, minN);
  if (n < need) return tooFew('opinions', n, need);
  const value = positive / n;
  const { low, high } = wilsonInterval(value, n, CONFIDENCE);
  // Rounding can push a bound past the value.
  return {
    kind: 'ratio' as const,
    value,
    low: Math.min(low, value),
    high: Math.max(high, value),
    n,
    positive,
    negative,
  };
}

/**
 * Returns the positive ratio of all feedback (`all`) and of each segment. Feedback on unknown or unsampled queries
 * counts only in `all`.
 */
export function positiveRatios(
  tallies: readonly OpinionTally[],
  basis: FeedbackBasis = 'all',
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
  return new Map([...counts].map(([segment, count]) => [segment, positiveRatio(count)]));
}
