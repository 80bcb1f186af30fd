/** What one feedback says: positive, negative or neutral, and the number that is stored for it. */
import type { Feedback } from '../live-query.ts';
import type { Scale, Sentiment, SentimentMapping, ThumbRule } from './sentiment-mapping.ts';
import { thumbOf } from './thumb.ts';

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
export interface SentimentRefusal {
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

function readThumb(
  value: Feedback['value'],
  rule: Sentiment | ThumbRule,
): SentimentReading | SentimentRefusal {
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
      scale.max === Number.POSITIVE_INFINITY
        ? `of at least ${scale.min}`
        : `from ${scale.min} to ${scale.max}`;
    return refused(
      `value must be a number ${range} for a ${kind}; the config of the pipeline sets the scale.`,
    );
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
