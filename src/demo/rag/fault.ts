import { hashText } from './embedder.ts';

/**
 * What can be wrong with the demo RAG service. One fault at a time; setting one lifts the one before.
 *
 * none       healthy
 * index      a third of the documents are missing, as after an index build that stopped half-way
 * embedding  questions are embedded by another model than the documents, so that similarity means nothing
 * outage     every search is answered with status 503
 */
export const ragFaults = ['none', 'index', 'embedding', 'outage'] as const;

export type RagFault = (typeof ragFaults)[number];

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
