import { around, bySize, type FaultKind, some } from '../fault.ts';

/** Number of queries from which the threshold is derived. */
const SAMPLE = 100;

interface Entry {
  readonly text: string;
  readonly vector: Float32Array;
}

function cosine(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

function mostAlike(entries: readonly Entry[], vector: Float32Array) {
  let best: { readonly text: string; readonly similarity: number } | undefined;
  for (const entry of entries) {
    const similarity = cosine(entry.vector, vector);
    if (best === undefined || similarity > best.similarity) best = { text: entry.text, similarity };
  }
  return best;
}

export const kind: FaultKind = {
  name: 'semantic-cache-too-loose',
  title: 'a new semantic cache takes similar queries for the same query and returns the results of the earlier one',
  causes: ['foreign_answers'],
  begin({ size, random, material }) {
    const share = Math.min(0.97, around(random, bySize(size, 0.2, 0.55, 0.95)));
    const toEntry = (text: string): Entry => ({ text, vector: material.embed(text) });
    const queries = [...material.golden, ...material.live];
    const sample = some(queries, Math.min(1, SAMPLE / queries.length), random).map(({ text }) => toEntry(text));
    const similarities = sample
      .map(
        (entry) =>
          mostAlike(
            sample.filter(({ text }) => text !== entry.text),
            entry.vector,
          )?.similarity ?? 0,
      )
      .toSorted((a, b) => b - a);
    const threshold = similarities[Math.floor(share * similarities.length)] ?? 1;
    const cached: Entry[] = [];
    /** Query whose results the cache returns for a text. */
    const answered = new Map<string, string>();
    const earlierOf = (text: string): string => {
      const known = answered.get(text);
      if (known !== undefined) return known;
      const entry = toEntry(text);
      const alike = mostAlike(cached, entry.vector);
      const isHit = alike !== undefined && alike.similarity >= threshold;
      if (!isHit) cached.push(entry);
      const earlier = isHit ? alike.text : text;
      answered.set(text, earlier);
      return earlier;
    };
    return { search: (search) => (asked) => search({ ...asked, text: earlierOf(asked.text) }) };
  },
};
