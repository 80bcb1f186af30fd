import { languageName, languagesOf } from '../../core/text/language.ts';
import { scriptOf } from '../../core/text/query-kinds.ts';
import { DAY_MS } from '../../core/time.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';

/** Minimum number of letters in a text for language detection. The minimum is low, because most queries are short. */
const MIN_LETTERS = 30;
/** Minimum number of texts with a detected language. */
const MIN_DETECTED = 30;
/** How long the share of the usual language must have been below one half before another language replaces it. */
const MAX_MINORITY_MS = 14 * DAY_MS;

export interface UsualLanguage {
  readonly language: string;
  /** Time of the last measurement in which at least half of the texts were in this language. */
  readonly lastMajorityAt: Date;
}

/**
 * Returns the language of a text in Latin script, or the script of any other text; null if unknown. Returns the usual
 * language if the text could be in that language. A few words without verbs and articles often look like a related
 * language, so users who start to type shorter queries would otherwise seem to have changed their language.
 *
 * @param usual language or script of most queries; null if unknown
 */
export function languageOrScript(text: string, usual: string | null): string | null {
  const script = scriptOf(text);
  if (script === null || script !== 'Latin') return script;
  const languages = languagesOf(text, MIN_LETTERS).map(languageName);
  return usual !== null && languages.includes(usual) ? usual : (languages[0] ?? null);
}

/**
 * Returns the weighted share of the usual language, with a 95 % confidence interval (Wilson, over Kish's effective
 * sample size). The share is computed over texts in that language and in the most frequent other language. Texts in all
 * other languages are ignored: detection errors on short texts are spread over many rare languages, whereas users who
 * switch languages mostly switch to the same new language. At first, the usual language is the most frequent
 * language. Once the share of the usual language has been below one half for two weeks, the language that is most
 * frequent at that time becomes the usual language.
 *
 * @returns null if fewer than 30 texts have a detected language
 */
export function languageShare(
  texts: readonly { readonly language: string | null; readonly probability: number }[],
  known: UsualLanguage | null,
  now: Date,
) {
  const detected = texts.filter(({ language }) => language !== null);
  if (detected.length < MIN_DETECTED) return null;
  const languages = new Map<string, { weight: number; squares: number; n: number }>();
  let total = 0;
  for (const { language, probability } of detected) {
    const one = languages.get(language ?? '') ?? { weight: 0, squares: 0, n: 0 };
    const weight = 1 / probability;
    languages.set(language ?? '', { weight: one.weight + weight, squares: one.squares + weight ** 2, n: one.n + 1 });
    total += weight;
  }
  const byWeight = [...languages].toSorted(([, a], [, b]) => b.weight - a.weight);
  const shareOf = (language: string): number => (languages.get(language)?.weight ?? 0) / total;
  const isMajority = known !== null && shareOf(known.language) >= 0.5;
  const isKept = known !== null && (isMajority || now.getTime() - known.lastMajorityAt.getTime() < MAX_MINORITY_MS);
  const language = isKept ? known.language : (byWeight[0]?.[0] ?? '');
  const usual = { language, lastMajorityAt: isKept && !isMajority ? known.lastMajorityAt : now };
  const none = { weight: 0, squares: 0, n: 0 };
  const own = languages.get(usual.language) ?? none;
  const [, other] = byWeight.find(([language]) => language !== usual.language) ?? ['', none];
  const weight = own.weight + other.weight;
  const value = own.weight / weight;
  const { low, high } = wilsonInterval(value, weight ** 2 / (own.squares + other.squares), 0.95);
  return {
    value,
    low: Math.min(low, value),
    high: Math.max(high, value),
    /** Number of texts in the usual language or in the most frequent other language. */
    n: own.n + other.n,
    usual,
  };
}
