import type { DemoDocument } from './corpus.ts';
import { hashText } from './hashed-tfidf.ts';

/**
 * What can be wrong with the demo RAG service. One fault at a time; setting one lifts the one before.
 *
 * none       healthy
 * index      a third of the documents are missing, as after an index build that stopped half-way
 * stale      every document is cut in two with new ids, as after a re-chunk: the labels of golden sets go stale
 * embedding  questions are embedded by another model than the documents, so that similarity means nothing
 * slow       one search in eight takes 0.4 s longer, as when one of eight replicas is overloaded
 * outage     every search is answered with status 503
 */
export const ragFaults = ['none', 'index', 'stale', 'embedding', 'slow', 'outage'] as const;

export type RagFault = (typeof ragFaults)[number];

/** The article that the store can do without, as if nobody had ever written it; it has the most questions of all. */
export const MISSING_ARTICLE = 'Super_Bowl_50';

/** Whether a document, by its id, is of the article that the store can do without. */
export function isOfMissingArticle(id: string): boolean {
  return id.startsWith(`${MISSING_ARTICLE}/`);
}

/** Of the `slow` fault: one search in so many is late, by so much. */
export const SLOW_ONE_IN = 8;
export const SLOW_MS = 400;

/**
 * The third of the ids (rounded down) that the `index` fault drops: those with the lowest seeded hash. The choice
 * depends on the set of ids alone, so it is the same in every run and for every order of the ids.
 */
export function chooseDroppedIds(ids: readonly string[], seed = 1): string[] {
  return ids
    .map((id) => ({ id, hash: hashText(id, seed) }))
    .toSorted((a, b) => a.hash - b.hash || (a.id < b.id ? -1 : 1))
    .slice(0, Math.floor(ids.length / 3))
    .map(({ id }) => id);
}

/** The two halves, by words, that the `stale` fault cuts a document into. */
export function cutInTwo({ id, title, text }: DemoDocument): DemoDocument[] {
  const words = text.split(' ');
  const half = Math.ceil(words.length / 2);
  return [words.slice(0, half), words.slice(half)].map((part, index) => ({
    id: `${id}-${index + 1}`,
    title,
    text: part.join(' '),
  }));
}
