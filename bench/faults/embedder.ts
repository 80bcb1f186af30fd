/** The encoder of the monitored service: recorded vectors, and approximations for texts without a recorded vector. */
import type { StoredCorpus } from './corpora.ts';
import { halvesOf, PREFIXES, prefixOf } from './texts.ts';
import { type EncoderName, readVectors, UnrecordedTextError, unit, type VectorOf } from './vectors.ts';

/** Number of recorded texts whose vectors approximate an unknown vector. */
const LIKENESSES = 4;

function wordsIn(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []);
}

/**
 * A text without a recorded vector is either the start of a document, which recalld requests, or a text that a fault
 * has modified. The start of a document gets the vector of the recorded start of that document whose length is closest.
 * A modified text gets the mean vector of the documents that share the most words with it.
 */
export function createEmbedder(encoder: EncoderName, { documents }: StoredCorpus): VectorOf {
  const recorded = readVectors(encoder);
  const made = new Map<string, Float32Array>();
  let wordsOfDocuments: readonly ReadonlySet<string>[] | null = null;
  const standIn = (text: string): Float32Array => {
    const start = text.trim();
    const whole = start === '' ? undefined : documents.find((document) => document.text.startsWith(start));
    if (whole !== undefined) {
      const forms = [whole.text, halvesOf(whole.text)[0], ...PREFIXES.map((share) => prefixOf(whole.text, share))];
      const gap = (form: string): number => Math.abs(form.length - start.length);
      return recorded(forms.toSorted((a, b) => gap(a) - gap(b))[0] ?? whole.text);
    }
    const words = wordsIn(text);
    wordsOfDocuments ??= documents.map((document) => wordsIn(document.text));
    const likest = wordsOfDocuments
      .map((others, at) => {
        const shared = [...words].filter((word) => others.has(word)).length;
        return { text: documents[at]?.text ?? '', likeness: shared / Math.sqrt(1 + others.size) };
      })
      .toSorted((a, b) => b.likeness - a.likeness)
      .slice(0, LIKENESSES);
    const vectors = likest.map((one) => recorded(one.text));
    return unit(Array.from(vectors[0] ?? [], (_, at) => vectors.reduce((sum, vector) => sum + (vector[at] ?? 0), 0)));
  };
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    try {
      return recorded(text);
    } catch (error) {
      if (!(error instanceof UnrecordedTextError)) throw error;
      const vector = standIn(text);
      made.set(text, vector);
      return vector;
    }
  };
}
