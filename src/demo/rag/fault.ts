import type { DemoDocument } from './corpus.ts';
import { hashText } from './hashed-tfidf.ts';

/**
 * Faults of the demo's RAG service. Only one fault is active at a time.
 *
 * - `none`: the service is healthy.
 * - `index`: a third of the documents are missing, as after an aborted index build.
 * - `stale`: every document is split into two documents with new ids, as after re-chunking, so judgments become stale.
 * - `embedding`: queries are embedded with a different model than documents, so similarities are meaningless.
 * - `slow`: one search in eight takes 0.8 s longer, as if one of eight replicas were overloaded.
 * - `outage`: every search fails with status 503.
 */
export const ragFaults = ['none', 'index', 'stale', 'embedding', 'slow', 'outage'] as const;

export type RagFault = (typeof ragFaults)[number];

/** Groups of documents that can be missing: `article`, a whole article; `answers`, passages of several articles. */
export const gaps = ['article', 'answers'] as const;

export type Gap = (typeof gaps)[number];

/** The article with the most questions; in the gap `article`, it is missing from the store. */
export const MISSING_ARTICLE = 'Super_Bowl_50';

/**
 * One passage from each of 16 articles. No golden query is about these passages, and the store contains similar
 * passages.
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

/** Returns the gap that a document belongs to; null for a document that is always in the store. */
export function gapOf(id: string): Gap | null {
  if (id.startsWith(`${MISSING_ARTICLE}/`)) return 'article';
  return missingPassages.includes(id) ? 'answers' : null;
}

/** The `slow` fault delays one of this many searches. */
export const SLOW_ONE_IN = 8;
export const SLOW_MS = 800;

/**
 * Returns the ids that the `index` fault drops: a third of all ids, rounded down. The order of the ids does not matter.
 */
export function chooseDroppedIds(ids: readonly string[], seed = 1): string[] {
  return ids
    .map((id) => ({ id, hash: hashText(id, seed) }))
    .toSorted((a, b) => a.hash - b.hash || (a.id < b.id ? -1 : 1))
    .slice(0, Math.floor(ids.length / 3))
    .map(({ id }) => id);
}

export function cutInTwo({ id, title, text }: DemoDocument): DemoDocument[] {
  const words = text.split(' ');
  const half = Math.ceil(words.length / 2);
  return [words.slice(0, half), words.slice(half)].map((part, index) => ({
    id: `${id}-${index + 1}`,
    title,
    text: part.join(' '),
  }));
}
