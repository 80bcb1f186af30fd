/** Who asks, how, and at what length: people do not ask alike, and a model left alone always does. */
import { createRandom } from '../../../stats/random.ts';

export interface QuestionStyle {
  readonly persona: string;
  readonly manner: string;
  readonly length: string;
}

const personas = [
  'a customer who is new to the subject',
  'an expert who knows the jargon',
  'a colleague from another department',
  'someone in a hurry on a phone',
  'a student who wants to understand why',
  'someone for whom something went wrong',
  'an auditor who checks a detail',
];

const manners = [
  'a full question',
  'a few key words as typed into a search box',
  'a situation told in the first person, from which the question follows',
  'a question that uses other words than the source where it can',
  'a question about a number, a date, a name or a condition',
  'an informal question with a small typing mistake',
];

const lengths = ['3 to 6 words', '7 to 12 words', '13 to 25 words'];

/** The style of the question at a place; the same seed gives the same styles. */
export function questionStyle(place: number, seed: number): QuestionStyle {
  const random = createRandom(seed + 7919 * (place + 1));
  const draw = new Uint32Array(3);
  random(draw);
  const pick = (from: readonly string[], index: number): string =>
    from[(draw[index] ?? 0) % from.length] ?? '';
  return { persona: pick(personas, 0), manner: pick(manners, 1), length: pick(lengths, 2) };
}
