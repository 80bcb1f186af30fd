/** When two texts say the same: words and runs of words, without regard to case, accents' encoding and punctuation. */

/** NFKC, lower case, every run of what is neither letter, mark nor digit as one space. */
export function normalisedText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

/**
 * The words of a text. Scripts that write without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar) give a
 * word for each letter.
 */
export function wordsOf(text: string): string[] {
  const unspaced =
    /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]\p{M}*/gu;
  const spaced = normalisedText(text).replaceAll(unspaced, ' $& ');
  return spaced.split(' ').filter((word) => word !== '');
}

/** Runs of `length` words that follow each other; a shorter text is one run (Broder 1997). */
export function shinglesOf(words: readonly string[], length: number): Set<string> {
  if (words.length === 0) return new Set();
  const runs = new Set<string>();
  for (let start = 0; start + length <= words.length || start === 0; start++) {
    runs.add(words.slice(start, start + length).join(' '));
  }
  return runs;
}

/** Size of the intersection of two sets. */
export function commonCount<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): number {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a];
  let common = 0;
  for (const one of small) if (large.has(one)) common += 1;
  return common;
}

/** |A and B| / |A or B| (Jaccard 1912), 0..1; 0 for two empty sets. */
export function jaccard<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): number {
  const common = commonCount(a, b);
  return common === 0 ? 0 : common / (a.size + b.size - common);
}

/** Share of A that is in B (containment, Broder 1997), 0..1; 0 for an empty A. */
export function containment<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): number {
  return a.size === 0 ? 0 : commonCount(a, b) / a.size;
}
