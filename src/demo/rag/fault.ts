import type { DemoDocument } from './corpus.ts';
import { hashText } from './hashed-tfidf.ts';

/**
 * What can be wrong with the demo RAG service. One fault at a time; setting one lifts the one before.
 *
 * none       healthy
 * index      a third of the documents are missing, as after an index build that stopped half-way
 * stale      every document is cut in two with new ids, as after a re-chunk: the labels of golden sets go stale
 * embedding  questions are embedded by another model than the documents, so that similarity means nothing
 * slow       one search in eight takes 0.8 s longer, as when one of eight replicas is overloaded
 * outage     every search is answered with status 503
 */
export const ragFaults = ['none', 'index', 'stale', 'embedding', 'slow', 'outage'] as const;

export type RagFault = (typeof ragFaults)[number];

/** What the store can do without, as if nobody had ever written it: a whole article, or passages of several. */
export const gaps = ['article', 'answers'] as const;

export type Gap = (typeof gaps)[number];

/** It has the most questions of all. */
export const MISSING_ARTICLE = 'Super_Bowl_50';

/**
 * Each of another article, the rest of which the store holds. No golden question is about one of them, and what people ask
 * about each lies nearer to the rest, on average, than half of their other questions do.
 */
export const missingPassages: readonly string[] = [
  'Amazon_rainforest/5',
  'Chloroplast/5',
  'Computational_complexity_theory/1',
  'Ctenophora/4',
  'European_Union_law/4',
  'Force/2',
  'Fresno,_California/1',
  'Huguenot/3',
  'Immune_system/5',
  'Martin_Luther/3',
  'Prime_number/1',
  'Private_school/5',
  'Southern_California/2',
  'United_Methodist_Church/1',
  'Warsaw/3',
  'Yuan_dynasty/3',
];

/** Which gap a document is in, by its id; null for one that the store always holds. */
export function gapOf(id: string): Gap | null {
  if (id.startsWith(`${MISSING_ARTICLE}/`)) return 'article';
  return missingPassages.includes(id) ? 'answers' : null;
}

/** Of the `slow` fault: one search in so many is late, by so much. */
export const SLOW_ONE_IN = 8;
export const SLOW_MS = 800;

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
