export type ContextSize = NonNullable<ReturnType<typeof contextSize>>;

const RUN_WORDS = 5;
/**
 * Maximum number of code units searched for repeated text; the search takes a few milliseconds. The result's
 * `characters` counts all code units, including those that are not searched.
 */
const MAX_COMPARED = 200_000;

/**
 * Measures the total size of several texts, and the share of repeated text. Finds repeated text by comparing the 53-bit
 * hashes of all sequences of five words (Broder 1997). A text with fewer than five words counts as one sequence. Words
 * consist of letters, marks and digits, and are compared case-insensitively; in scripts without spaces, each letter is
 * a word.
 *
 * @param texts best first, one per result
 * @returns null if there are no results, or if a result's text is unknown
 */
export function contextSize(texts: readonly (string | null | undefined)[]) {
  if (texts.length === 0) return null;
  const seen = new Set<number>();
  let [characters, runs, repeated] = [0, 0, 0];
  for (const text of texts) {
    if (text === null || text === undefined) return null;
    const own = runsOf(text.slice(0, Math.max(0, MAX_COMPARED - characters)));
    characters += text.length;
    runs += own.length;
    for (const run of own) if (seen.has(run)) repeated += 1;
    for (const run of own) seen.add(run);
  }
  return {
    /** Number of UTF-16 code units in all texts together. */
    characters,
    /** Share, from 0 to 1, of the five-word sequences that also occur in an earlier text in the list. */
    repeated: runs === 0 ? 0 : repeated / runs,
  };
}

/** Returns a hash of each five-word sequence. */
function runsOf(text: string): number[] {
  const words = wordHashes(text);
  const runs: number[] = [];
  for (let start = 0; start + RUN_WORDS <= words.length || (start === 0 && words.length > 0); start += 1) {
    let [low, high] = [0x811c9dc5, 0x9e3779b9];
    for (let at = start; at < Math.min(words.length, start + RUN_WORDS); at += 1) {
      low = Math.imul(low ^ (words[at] ?? 0), 0x01000193);
      high = Math.imul((high << 13) | (high >>> 19), 0x85ebca6b) ^ (words[at] ?? 0);
    }
    runs.push((low >>> 0) * 2 ** 21 + ((high ^ (high >>> 16)) & 0x1fffff));
  }
  return runs;
}

/** Returns the 32-bit FNV-1a hash of each word: http://www.isthe.com/chongo/tech/comp/fnv/ */
function wordHashes(text: string): number[] {
  const lower = text.toLowerCase();
  const kinds = kindsOfUnits();
  const words: number[] = [];
  let hash = 0;
  let isOpen = false;
  const close = (): void => {
    if (isOpen) words.push(hash);
    isOpen = false;
  };
  for (let at = 0; at < lower.length; at += 1) {
    const unit = lower.charCodeAt(at);
    const kind = kinds[unit];
    if (kind !== LETTER) close();
    if (kind === NO_WORD) continue;
    hash = Math.imul((isOpen ? hash : 0x811c9dc5) ^ unit, 0x01000193);
    isOpen = true;
    if (kind === WORD) close();
  }
  close();
  return words;
}

const [NO_WORD, LETTER, WORD] = [0, 1, 2];
const letter = /[\p{L}\p{M}\p{N}\p{Cs}]/u;
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
let kinds: Uint8Array | null = null;

/** Classifies each UTF-16 code unit once, because matching a pattern against each character would be too slow. */
function kindsOfUnits(): Uint8Array {
  kinds ??= Uint8Array.from({ length: 65_536 }, (_, unit) => {
    const character = String.fromCharCode(unit);
    if (unspaced.test(character)) return WORD;
    return letter.test(character) ? LETTER : NO_WORD;
  });
  return kinds;
}
