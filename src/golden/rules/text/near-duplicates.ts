/** Texts that say nearly the same, found without comparing each with each. */
import { jaccard, wordsOf } from './similarity.ts';

export interface NearPair {
  /** Positions in the list of texts, `first` before `second`. */
  readonly first: number;
  readonly second: number;
  /** Jaccard similarity of their sets of words; 1 for texts that differ in case, order or punctuation alone. */
  readonly similarity: number;
}

/**
 * All pairs of texts whose sets of words have a Jaccard similarity of at least `least`, by the position of the second,
 * then of the first. Only pairs that share one of their rarest words are compared: two sets of that similarity must
 * have a word in common among the first |A| - ceil(least |A|) + 1 of an order of all words (prefix filter, Chaudhuri,
 * Ganti and Kaushik 2006). Texts without words are never alike.
 *
 * @param least in (0, 1]
 */
export function nearDuplicates(texts: readonly string[], least: number): NearPair[] {
  const sets = texts.map((text) => new Set(wordsOf(text)));
  const frequency = new Map<string, number>();
  for (const set of sets) for (const word of set) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const byRarity = (a: string, b: string): number =>
    (frequency.get(a) ?? 0) - (frequency.get(b) ?? 0) || (a < b ? -1 : 1);
  const seenWith = new Map<string, number[]>();
  const pairs: NearPair[] = [];
  for (const [second, set] of sets.entries()) {
    const prefix = [...set].toSorted(byRarity).slice(0, set.size - Math.ceil(least * set.size - 1e-9) + 1);
    const candidates = new Set(set.size === 0 ? [] : prefix.flatMap((word) => seenWith.get(word) ?? []));
    for (const first of [...candidates].toSorted((a, b) => a - b)) {
      const other = sets[first];
      if (other === undefined || Math.min(set.size, other.size) < least * Math.max(set.size, other.size))
        continue;
      const similarity = jaccard(set, other);
      if (similarity >= least) pairs.push({ first, second, similarity });
    }
    for (const word of prefix) {
      const seen = seenWith.get(word);
      if (seen === undefined) seenWith.set(word, [second]);
      else seen.push(second);
    }
  }
  return pairs;
}
