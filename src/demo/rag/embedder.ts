import { characterNgrams, contentWords } from './terms.ts';

/**
 * The demo's embedder is lexical: TF-IDF with feature hashing. It is not a neural model and knows no synonyms, it
 * only sees words and parts of words. In return it needs no download, no key and no GPU, gives the same vector on
 * every machine, and finds the right passage often enough to have something to lose.
 */
export interface TextEmbedder {
  readonly dimensions: number;
  /** A vector of length 1, or the zero vector for a text without a content word. */
  embed(text: string): Float32Array;
}

/** How rare each feature is in a corpus; fitted once, read only. */
export interface InverseDocumentFrequencies {
  readonly documents: number;
  readonly documentFrequency: ReadonlyMap<string, number>;
}

const NGRAM_LENGTH = 4;

/** Measured on the demo's questions: n-grams help with word forms but must not outvote whole words. */
const NGRAM_WEIGHT = 0.5;

/** Counts in how many of the texts each feature occurs. */
export function fitInverseDocumentFrequencies(texts: Iterable<string>): InverseDocumentFrequencies {
  const documentFrequency = new Map<string, number>();
  let documents = 0;
  for (const text of texts) {
    documents += 1;
    for (const feature of countFeatures(text).keys()) {
      documentFrequency.set(feature, (documentFrequency.get(feature) ?? 0) + 1);
    }
  }
  return { documents, documentFrequency };
}

/**
 * Hashed TF-IDF. The weight of a feature is (1 + ln tf) x (ln((1 + N) / (1 + df)) + 1), the sublinear and smoothed
 * form; its place and sign come from a seeded hash (Weinberger et al., "Feature hashing for large scale multitask
 * learning", ICML 2009), so that collisions cancel on average and the dot product of two vectors estimates their
 * cosine in the full feature space. Features that the corpus does not have count as the rarest: a question about
 * something else gets a low similarity. Vectors of different seeds cannot be compared.
 *
 * `dimensions` is at least 1, `seed` an integer.
 */
export function hashedTfidfEmbedder(
  fitted: InverseDocumentFrequencies,
  { dimensions, seed }: { dimensions: number; seed: number },
): TextEmbedder {
  const inverseDocumentFrequency = (feature: string) =>
    Math.log((1 + fitted.documents) / (1 + (fitted.documentFrequency.get(feature) ?? 0))) + 1;

  return {
    dimensions,
    embed(text) {
      const vector = new Float64Array(dimensions);
      for (const [feature, { count, weight }] of countFeatures(text)) {
        const hash = hashText(feature, seed);
        const sign = hash >>> 31 === 0 ? 1 : -1;
        const place = hash % dimensions;
        vector[place] =
          (vector[place] ?? 0) + sign * weight * (1 + Math.log(count)) * inverseDocumentFrequency(feature);
      }
      const length = Math.hypot(...vector);
      return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
    },
  };
}

/** Whole words and their character n-grams. An n-gram starts with `#`, which no word contains. */
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
 * An unsigned 32-bit hash of a text: FNV-1a over its UTF-16 code units, then the finaliser of MurmurHash3, because
 * the low bits of FNV alone are too regular for short texts.
 */
export function hashText(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
