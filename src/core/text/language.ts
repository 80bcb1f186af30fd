/** Detects the language of a text by its trigrams (Cavnar and Trenkle 1994). */
import { createHash } from 'node:crypto';
import { francAll } from 'franc-min';

/** Minimum number of letters; shorter texts are ambiguous. */
const MIN_LETTERS = 40;
const MAX_CHARACTERS = 2000;
/**
 * If the second-best language scores more than this share of the best score, the language counts as unknown. Such close
 * scores are common for names, code, and texts that mix languages.
 */
const ALMOST_AS_WELL = 0.9;

/** A language is a candidate if it scores at least this share of the best score. */
const CANDIDATE = 0.8;

/**
 * Maximum number of texts in the language cache. Every run and every diagnosis detects the languages of the same golden
 * queries, and each detection takes about 0.3 ms.
 */
const MAX_KNOWN = 5000;
/** The cache is keyed by a digest of the text, so that no text stays in memory. */
const known = new Map<string, readonly string[]>();

/** Returns the ISO 639-3 code of the language, such as `eng`; null if it cannot be determined from the text. */
export function languageOf(text: string): string | null {
  return languagesOf(text, MIN_LETTERS)[0] ?? null;
}

/**
 * Returns the ISO 639-3 codes of the languages that a text may be in, likeliest first; empty if they cannot be
 * determined.
 *
 * @param minLetters number of letters below which the result is empty
 */
export function languagesOf(text: string, minLetters: number): readonly string[] {
  const key = `${minLetters} ${createHash('sha256').update(text).digest('base64')}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const languages = detectLanguages(text, minLetters);
  known.set(key, languages);
  return languages;
}

function detectLanguages(text: string, minLetters: number): readonly string[] {
  const letters = text.slice(0, MAX_CHARACTERS).replaceAll(/[^\p{L}\p{M}\s]+/gu, ' ');
  const ranked = francAll(letters, { minLength: minLetters });
  const [first, second] = ranked;
  if (first === undefined || first[0] === 'und' || (second?.[1] ?? 0) > ALMOST_AS_WELL) return [];
  return ranked.flatMap(([code, score]) => (score >= CANDIDATE ? [code] : []));
}

/** Returns `English` for `eng`; the code itself if it has no name. */
export function languageName(code: string): string {
  return new Intl.DisplayNames('en', { type: 'language' }).of(code) ?? code;
}
