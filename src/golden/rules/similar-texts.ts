/**
 * Normalizes a text to NFKC and lower case, and replaces each sequence of characters other than letters, marks and
 * digits with one space.
 */
export function normalisedText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

/**
 * Splits a text into words. In scripts without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar), each letter
 * is a word.
 */
export function wordsOf(text: string): string[] {
  const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]\p{M}*/gu;
  const spaced = normalisedText(text).replaceAll(unspaced, ' $& ');
  return spaced.split(' ').filter((word) => word !== '');
}

/** Returns all sequences of `length` consecutive words (shingles, Broder 1997); a shorter text is one sequence. */
export function shinglesOf(words: readonly string[], length: number): Set<string> {
  if (words.length === 0) return new Set();
  const runs = new Set<string>();
  for (let start = 0; start + length <= words.length || start === 0; start++) {
    runs.add(words.slice(start, start + length).join(' '));
  }
  return runs;
}

export function commonCount<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): number {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a];
  let common = 0;
  for (const one of small) if (large.has(one)) common += 1;
  return common;
}

/** Jaccard similarity |A and B| / |A or B| (Jaccard 1912), 0..1; 0 for two empty sets. */
export function jaccard<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): number {
  const common = commonCount(a, b);
  return common === 0 ? 0 : common / (a.size + b.size - common);
}

/** Returns the share of A that is in B (containment, Broder 1997), 0..1; 0 for an empty A. */
export function containment<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): number {
  return a.size === 0 ? 0 : commonCount(a, b) / a.size;
}

interface NearPair {
  /** Index of the text that comes first in the list. */
  readonly first: number;
  /** Index of the text that comes second. */
  readonly second: number;
  /** Jaccard similarity of the word sets of both texts; 1 for texts that differ only in case, order or punctuation. */
  readonly similarity: number;
}

/**
 * Returns all pairs of texts whose word sets have a Jaccard similarity of at least `threshold`, ordered by the index of
 * the second text, then by the index of the first. To save time, compares only pairs that share one of their rarest
 * words. This misses no pair: if all sets are sorted in the same order, two sets whose similarity reaches the threshold
 * share a word that is among the first |A| - ceil(threshold |A|) + 1 words of each set A (prefix filter, Chaudhuri,
 * Ganti and Kaushik 2006). A text without words is similar to no other text.
 *
 * @param threshold in (0, 1]
 */
export function nearDuplicates(texts: readonly string[], threshold: number): NearPair[] {
  const sets = texts.map((text) => new Set(wordsOf(text)));
  const frequency = new Map<string, number>();
  for (const set of sets) for (const word of set) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const byRarity = (a: string, b: string): number =>
    (frequency.get(a) ?? 0) - (frequency.get(b) ?? 0) || (a < b ? -1 : 1);
  const seenWith = new Map<string, number[]>();
  const pairs: NearPair[] = [];
  for (const [second, set] of sets.entries()) {
    const prefix = [...set].toSorted(byRarity).slice(0, set.size - Math.ceil(threshold * set.size - 1e-9) + 1);
    const candidates = new Set(set.size === 0 ? [] : prefix.flatMap((word) => seenWith.get(word) ?? []));
    for (const first of [...candidates].toSorted((a, b) => a - b)) {
      const other = sets[first];
      if (other === undefined || Math.min(set.size, other.size) < threshold * Math.max(set.size, other.size)) continue;
      const similarity = jaccard(set, other);
      if (similarity >= threshold) pairs.push({ first, second, similarity });
    }
    for (const word of prefix) {
      const seen = seenWith.get(word);
      if (seen === undefined) seenWith.set(word, [second]);
      else seen.push(second);
    }
  }
  return pairs;
}
