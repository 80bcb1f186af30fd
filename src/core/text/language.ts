/** The language that a text is written in, by its runs of three letters (Cavnar and Trenkle 1994). */
import { createHash } from 'node:crypto';
import { francAll } from 'franc-min';

/** Shorter texts are taken for any language. */
const MIN_LETTERS = 40;
const MAX_CHARACTERS = 2000;
/** A second language that fits almost as well makes the first no finding: names, code, mixtures. */
const ALMOST_AS_WELL = 0.9;

/** Golden queries come again with each run and each diagnosis, and to tell a language takes some 0.3 ms. */
const MAX_KNOWN = 5000;
/** By digest, so that no text is held. */
const known = new Map<string, string | null>();

/**
 * @param minLetters of fewer a language would be a guess; for shares that are compared with each other, guesses cancel
 * @returns ISO 639-3, such as `eng`; null where a text does not tell
 */
export function languageOf(text: string, minLetters = MIN_LETTERS): string | null {
  const key = `${minLetters} ${createHash('sha256').update(text).digest('base64')}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const language = detectLanguage(text, minLetters);
  known.set(key, language);
  return language;
}

function detectLanguage(text: string, minLetters: number): string | null {
  const letters = text.slice(0, MAX_CHARACTERS).replaceAll(/[^\p{L}\p{M}\s]+/gu, ' ');
  const [first, second] = francAll(letters, { minLength: minLetters });
  if (first === undefined || first[0] === 'und' || (second?.[1] ?? 0) > ALMOST_AS_WELL) return null;
  return first[0];
}

/** `English` for `eng`; the code where it has no name. */
export function languageName(code: string): string {
  return new Intl.DisplayNames('en', { type: 'language' }).of(code) ?? code;
}
