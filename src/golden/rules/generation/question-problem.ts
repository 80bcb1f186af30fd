/** Questions that no person would ask: they know the source. */
import { goldenLimits } from '../limits.ts';
import { commonCount, shinglesOf, wordsOf } from '../text/similarity.ts';

export type QuestionProblem = 'quotes_chunk' | 'points_at_text' | 'unfit_length';

/** Words that a question may not have in common with its source in one run. */
const QUOTED_RUN = 6;
const FEWEST_WORDS = 2;
const MOST_WORDS = 60;

const noun =
  '(?:text|passage|document|excerpt|article|paragraph|section|context|snippet|source|chunk|page|author|table|figure)';

const pointing: readonly RegExp[] = [
  new RegExp(
    `\\b(?:the|this|that|these|above|given|provided|following|said)\\s+(?:\\w+\\s+)?${noun}s?\\b(?!\\s+of\\b)`,
    'iu',
  ),
  /\b(?:according to|mentioned in|described in|stated in|based on|as per)\s+(?:the|this|above)\b/iu,
  /\b(?:mentioned|described|listed|stated)\s+(?:above|here|below)\b/iu,
  /\b(?:im|dem|diesem|den|diesen|obigen|vorliegenden)\s+(?:text|dokument|abschnitt|artikel|auszug)\b/iu,
  /\b(?:le|ce|du|au)\s+(?:texte|document|passage|paragraphe|extrait)\b/iu,
  /\b(?:el|este|del)\s+(?:texto|documento|pasaje|párrafo|fragmento)\b/iu,
];

/**
 * Null for a question that may stand. `quotes_chunk`: six or more words in a row are those of the chunk.
 * `points_at_text`: it speaks of "the text", "this document" and the like (English, German, French, Spanish).
 */
export function questionProblem(question: string, chunk: string): QuestionProblem | null {
  const words = wordsOf(question);
  const isLong = words.length > MOST_WORDS || question.length > goldenLimits.textLength;
  if (words.length < FEWEST_WORDS || isLong) return 'unfit_length';
  if (pointing.some((pattern) => pattern.test(question))) return 'points_at_text';
  if (words.length < QUOTED_RUN) return null;
  const runs = shinglesOf(words, QUOTED_RUN);
  return commonCount(runs, shinglesOf(wordsOf(chunk), QUOTED_RUN)) > 0 ? 'quotes_chunk' : null;
}
