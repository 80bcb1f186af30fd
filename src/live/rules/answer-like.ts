/** Detects rewritten queries that look like an answer: the model answered the question instead of rewriting it. */

/** Minimum share of words that are not in the original text; answers introduce new words. */
const NEW_WORDS = 0.5;
/** Minimum number of words for a text to count as a statement; a shorter text may be a query. */
const MIN_STATEMENT_WORDS = 6;
/**
 * Minimum number of words of prose. A text of at least this length counts as prose even without a full stop, provided
 * that it is much longer than the original text.
 */
const MIN_PROSE_WORDS = 20;
const MUCH_LONGER = 2;
/** Words that share this many leading characters count as forms of the same word. */
const STEM_CHARACTERS = 5;

/**
 * Matches a word. In scripts without spaces, each character counts as a word, because `Intl.Segmenter` would take 200
 * microseconds per query.
 */
const word = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}]+/gu;
const endOfQuestion = /[?？؟]["'”’)\]]*$/u;
const endOfStatement = /[.!。！।]["'”’)\]]*$/u;

/**
 * True if a query is a statement or long prose, and most of its words are missing from the original text. Keyword
 * queries, questions and the original text are not answers; short answers such as a name or a number are not detected.
 *
 * The heuristic works for any language with sentence punctuation. The alert compares the share of such queries with its
 * usual value, so a service that deliberately searches with invented passages (HyDE) does not trigger it.
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
