/** In which languages live queries are asked. */

import { languageName, languageOf } from '../../core/text/language.ts';
import { scriptOf } from '../../core/text/query-kinds.ts';
import { DAY_MS } from '../../core/time.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';

/** Most queries are short, and what is compared is the share of now with that of before. */
const MIN_LETTERS = 20;
/** A share of fewer says little. */
const MIN_TOLD = 30;
/** A language that half of the traffic no longer has is given up after so long. */
const KEPT_MS = 14 * DAY_MS;

export interface UsualLanguage {
  readonly language: string;
  readonly since: Date;
}

/** The script of a text that is not in Latin script, else its language; null where it does not tell. */
export function languageOrScript(text: string): string | null {
  const script = scriptOf(text);
  if (script === null || script !== 'Latin') return script;
  const code = languageOf(text, MIN_LETTERS);
  return code === null ? null : languageName(code);
}

/**
 * Weighted share of the usual language beside the most frequent other one, with 95 % bounds (Wilson, over the effective
 * sample size of Kish). Texts in further languages are left out: a few words are taken for one language or another, each
 * seldom, while people who ask in another language share it. The usual language is the most frequent one when it is first
 * measured.
 *
 * @returns null for fewer than 30 texts that tell
 */
export function languageShare(
  asked: readonly { readonly language: string | null; readonly probability: number }[],
  known: UsualLanguage | null,
  now: Date,
) {
  const told = asked.filter(({ language }) => language !== null);
  if (told.length < MIN_TOLD) return null;
  const languages = new Map<string, { weight: number; squares: number; n: number }>();
  let total = 0;
  for (const { language, probability } of told) {
    const one = languages.get(language ?? '') ?? { weight: 0, squares: 0, n: 0 };
    const weight = 1 / probability;
    languages.set(language ?? '', { weight: one.weight + weight, squares: one.squares + weight ** 2, n: one.n + 1 });
    total += weight;
  }
  const byWeight = [...languages].toSorted(([, a], [, b]) => b.weight - a.weight);
  const shareOf = (language: string): number => (languages.get(language)?.weight ?? 0) / total;
  const isKept = known !== null && (shareOf(known.language) >= 0.5 || now.getTime() - known.since.getTime() < KEPT_MS);
  const usual = isKept ? known : { language: byWeight[0]?.[0] ?? '', since: now };
  const none = { weight: 0, squares: 0, n: 0 };
  const own = languages.get(usual.language) ?? none;
  const [, other] = byWeight.find(([language]) => language !== usual.language) ?? ['', none];
  const weight = own.weight + other.weight;
  const value = own.weight / weight;
  const { low, high } = wilsonInterval(value, weight ** 2 / (own.squares + other.squares), 0.95);
  return {
    value,
    ciLow: Math.min(low, value),
    ciHigh: Math.max(high, value),
    /** Texts in one of the two languages. */
    n: own.n + other.n,
    usual,
  };
}
