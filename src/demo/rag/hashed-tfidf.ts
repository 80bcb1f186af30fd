/**
 * A lexical embedder: hashed TF-IDF over stemmed English words. The `embedding` fault uses this embedder as the wrong
 * model.
 */
import { countEach } from '../../core/group-by.ts';
import { lengthOf } from '../../math/vector/matrix.ts';

const stopWords = new Set(
  (
    'a an and are as at be been but by did do does for from had has have how in into is it its many much of on or ' +
    'that the their they this to was were what when where which who whom whose why will with'
  ).split(' '),
);

/**
 * Returns the content words of an English text, in order and with repetitions: lowercase sequences of Unicode letters
 * and digits, without stop words, stemmed.
 */
export function contentWords(text: string): string[] {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !stopWords.has(word)).map(lightStem);
}

/**
 * Removes a plural ending (the S stemmer of Harman, "How effective is suffixing?", JASIS 1991), then -ing, -ed or -ly
 * if at least four letters remain, then a final e. Most forms of a word get the same stem; occasionally, two different
 * words also share a stem.
 */
function lightStem(word: string): string {
  let stem = singular(word);
  const suffix = ['ing', 'ed', 'ly'].find((end) => stem.endsWith(end) && stem.length - end.length >= 4);
  if (suffix !== undefined) stem = stem.slice(0, -suffix.length);
  return stem.length > 4 && stem.endsWith('e') ? stem.slice(0, -1) : stem;
}

function singular(word: string): string {
  if (word.length < 4) return word;
  if (word.endsWith('ies') && !/[ae]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (word.endsWith('es') && !/[aeo]es$/.test(word)) return word.slice(0, -1);
  if (word.endsWith('s') && !/[us]s$/.test(word)) return word.slice(0, -1);
  return word;
}

/** Returns the character n-grams of a word with marked boundaries: `<cat` and `cat>` for `cat` and n = 4. */
export function characterNgrams(word: string, n: number): string[] {
  const marked = `<${word}>`;
  const ngrams: string[] = [];
  for (let start = 0; start + n <= marked.length; start += 1) ngrams.push(marked.slice(start, start + n));
  return ngrams;
}

export type TextEmbedder = ReturnType<typeof hashedTfidfEmbedder>;

const NGRAM_LENGTH = 4;

/**
 * Weight of an n-gram, tuned on the demo's questions: n-grams help with word forms but must not outweigh whole words.
 */
const NGRAM_WEIGHT = 0.5;

export function fitInverseDocumentFrequencies(texts: readonly string[]) {
  const features = texts.map((text) => [...countFeatures(text).keys()]);
  return { documents: texts.length, documentFrequency: countEach(features.flat()) };
}

/**
 * Hashed TF-IDF, which matches words and parts of words, but not synonyms. The weight of a feature is (1 + ln tf) x
 * (ln((1 + N) / (1 + df)) + 1), the sublinear and smoothed form. The dimension and the sign of a feature come from a
 * seeded hash (Weinberger et al., "Feature hashing for large scale multitask learning", ICML 2009). Collisions
 * therefore cancel on average, and the dot product of two vectors estimates their cosine in the full feature space.
 * Features that are not in the corpus count as the rarest, so a query about another topic gets a low similarity.
 * Vectors computed with different seeds cannot be compared.
 *
 * `dimensions` must be at least 1; `seed` must be an integer.
 */
export function hashedTfidfEmbedder(
  fitted: ReturnType<typeof fitInverseDocumentFrequencies>,
  { dimensions, seed }: { dimensions: number; seed: number },
) {
  const inverseDocumentFrequency = (feature: string) =>
    Math.log((1 + fitted.documents) / (1 + (fitted.documentFrequency.get(feature) ?? 0))) + 1;

  return {
    dimensions,
    /** Returns a unit vector; for a text without content words, returns the zero vector. */
    embed(text: string): Float32Array {
      const vector = new Float64Array(dimensions);
      for (const [feature, { count, weight }] of countFeatures(text)) {
        const hash = hashText(feature, seed);
        const sign = hash >>> 31 === 0 ? 1 : -1;
        const place = hash % dimensions;
        vector[place] =
          (vector[place] ?? 0) + sign * weight * (1 + Math.log(count)) * inverseDocumentFrequency(feature);
      }
      return normalize(vector);
    },
  };
}

/** Scales a vector to norm 1; the zero vector is unchanged. */
export function normalize(vector: ArrayLike<number>): Float32Array {
  const length = lengthOf(vector);
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}

/** Counts words and their character n-grams. The key of an n-gram starts with `#`, which no word contains. */
function countFeatures(text: string): Map<string, { count: number; weight: number }> {
  const features = new Map<string, { count: number; weight: number }>();
  const add = (feature: string, weight: number) => {
    const seen = features.get(feature);
    if (seen === undefined) features.set(feature, { count: 1, weight });
    else seen.count += 1;
  };
  for (const word of contentWords(text)) {
    add(word, 1);
    for (const ngram of characterNgrams(word, NGRAM_LENGTH)) add(`#${ngram}`, NGRAM_WEIGHT);
  }
  return features;
}

/**
 * Returns an unsigned 32-bit hash: FNV-1a over the UTF-16 code units, then the finalizer of MurmurHash3, because the
 * low bits of FNV alone are too regular for short texts.
 */
export function hashText(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
