/** The many spellings of a thumb. */
import type { Feedback } from '../live-query.ts';
import type { ThumbRule } from './sentiment-mapping.ts';

const up = [
  'up',
  'thumb_up',
  'thumbup',
  'thumbs_up',
  'thumbsup',
  'like',
  'liked',
  'good',
  'helpful',
  'positive',
];
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
export function thumbOf(value: Feedback['value'], zero: ThumbRule['zero']): -1 | 0 | 1 | null {
  const ofZero = zero === 'negative' ? -1 : 0;
  if (typeof value === 'boolean') return value ? 1 : -1;
  if (typeof value === 'number') return value === 0 ? ofZero : value === 1 || value === -1 ? value : null;
  if (value === null) return null;
  const word = value.trim().toLowerCase();
  if (word === '0') return ofZero;
  // The hyphen of -1 is a sign and stays.
  return words.get(word) ?? words.get(word.replaceAll(/(?<=[a-z])[\s-]+(?=[a-z])/g, '_')) ?? null;
}
