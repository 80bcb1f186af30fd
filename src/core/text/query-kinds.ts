/** Groups queries by text properties that may affect how a retriever handles them. */
import { groupBy } from '../group-by.ts';
import { languageName, languageOf } from './language.ts';

/** Maximum number of texts for language detection, which blocks the event loop for about 0.2 ms per text. */
const MAX_LANGUAGES = 500;

interface QueryKind {
  /** Completes "a query": `in German`, `of 14 words or more`. */
  readonly name: string;
  /** Indices of the texts. */
  readonly members: readonly number[];
}

const scripts = [
  ['Latin', /\p{sc=Latin}/u],
  ['Cyrillic', /\p{sc=Cyrillic}/u],
  ['Greek', /\p{sc=Greek}/u],
  ['Arabic', /\p{sc=Arabic}/u],
  ['Hebrew', /\p{sc=Hebrew}/u],
  ['Devanagari', /\p{sc=Devanagari}/u],
  ['Thai', /\p{sc=Thai}/u],
  ['Korean', /\p{sc=Hangul}/u],
  ['Japanese', /[\p{sc=Hiragana}\p{sc=Katakana}]/u],
  ['Chinese', /\p{sc=Han}/u],
] as const;

/** Returns the script of the first letter if the script is known; null otherwise. */
export function scriptOf(text: string): string | null {
  // Japanese texts also contain Chinese characters.
  if (/[\p{sc=Hiragana}\p{sc=Katakana}]/u.test(text)) return 'Japanese';
  const letter = /\p{L}/u.exec(text)?.[0];
  return letter === undefined ? null : (scripts.find(([, pattern]) => pattern.test(letter))?.[0] ?? null);
}

const traits = [
  ['with digits', /\p{Nd}/u],
  ['with a capitalized word other than the first', /\S\s\p{Lu}\p{L}/u],
  ['with accents', /[à-öø-ÿĀ-ɏ]|\p{Mn}/u],
  ['with a question mark', /[?？؟]/u],
  ['with an identifier', /\b(?=\w*\d)(?=\w*\p{Lu})[\w-]{4,}\b|\w_\w|\b\w+\(\)/u],
] as const;

/**
 * Groups texts by script, language, length and traits; a text can be in several groups. Each length splits the texts
 * into shorter and longer ones, because a retriever may truncate queries at any length.
 */
export function queryKinds(texts: readonly string[]): QueryKind[] {
  const lengths = texts.map(wordsIn);
  const occurring = [...new Set(lengths)].toSorted((a, b) => a - b);
  const byScript = namedBy(texts, scriptOf, (script) => `in ${script} script`);
  const byLanguage =
    texts.length > MAX_LANGUAGES ? [] : namedBy(texts, languageOf, (code) => `in ${languageName(code)}`);
  const byLength = occurring.slice(1).flatMap((longer, place) => [
    { name: `of ${occurring[place] ?? 0} words or fewer`, members: placesOf(lengths, (words) => words < longer) },
    { name: `of ${longer} words or more`, members: placesOf(lengths, (words) => words >= longer) },
  ]);
  const byTrait = traits.map(([name, pattern]) => ({ name, members: placesOf(texts, (text) => pattern.test(text)) }));
  return [...byScript, ...byLanguage, ...byLength, ...byTrait];
}

/** Counts runs of letters and digits. In scripts without spaces, every two characters count as one word. */
function wordsIn(text: string): number {
  const unspaced = text.match(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/gu)?.length ?? 0;
  const words = text.match(/[\p{L}\p{M}\p{N}]+/gu)?.length ?? 0;
  return unspaced === 0 ? words : words + Math.floor(unspaced / 2);
}

function placesOf<Value>(values: readonly Value[], holds: (value: Value) => boolean): number[] {
  return values.flatMap((value, place) => (holds(value) ? [place] : []));
}

function namedBy(
  texts: readonly string[],
  read: (text: string) => string | null,
  spell: (name: string) => string,
): QueryKind[] {
  const places = groupBy(texts.keys(), (place) => read(texts[place] ?? ''));
  return [...places].flatMap(([name, members]) => (name === null ? [] : [{ name: spell(name), members }]));
}
