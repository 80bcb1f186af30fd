/** Recognizes rewritten queries that look like an answer, as when a model answers a question instead of rewriting it. */

/** An answer brings words of its own: at least this share of its words is not in the original text. */
const NEW_WORDS = 0.5;
/** A shorter statement may be a query. */
const MIN_STATEMENT_WORDS = 6;
/** Texts of this length are prose even without a full stop, if they are also much longer than the original text. */
const MIN_PROSE_WORDS = 20;
const MUCH_LONGER = 2;
/** Words that start alike count as forms of one word. */
const STEM_CHARACTERS = 5;

/** Scripts without blanks between words count by character. `Intl.Segmenter` would take 200 microseconds per query. */
const word = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}]+/gu;
const endOfQuestion = /[?？؟]["'”’)\]]*$/u;
const endOfStatement = /[.!。！।]["'”’)\]]*$/u;

/**
 * True if a query is a statement, or long prose, and most of its words are not in the original text. A keyword query, a
 * question, and the original text are no answers; a short answer such as a name or a number is not recognized.
 *
 * A heuristic for any language with sentence punctuation. Its share is compared with its own usual value, so that a
 * service that searches with invented passages on purpose (HyDE) is not affected.
 */
export function looksLikeAnswer(query: string, originalText: string): boolean {
  const text = query.trim();
  if (endOfQuestion.test(text)) return false;
  const words = wordsOf(text);
  const original = wordsOf(originalText);
  const isStatement = words.length >= MIN_STATEMENT_WORDS && endOfStatement.test(text);
  const isProse = words.length >= Math.max(MIN_PROSE_WORDS, MUCH_LONGER * original.length);
  if (!isStatement && !isProse) return false;
  const known = new Set(original);
  return words.filter((one) => !known.has(one)).length >= NEW_WORDS * words.length;
}

function wordsOf(text: string): string[] {
  return (text.normalize('NFKC').toLowerCase().match(word) ?? []).map((one) => one.slice(0, STEM_CHARACTERS));
}
