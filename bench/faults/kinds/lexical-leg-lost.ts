import { around, bySize, type FaultKind, some } from '../fault.ts';

/** Number of candidates from the vector search. */
const CANDIDATES = 40;
/** Weight of the vector score in the sum of the vector and lexical scores. */
const VECTOR_WEIGHT = 0.5;

export const kind: FaultKind = {
  name: 'lexical-leg-lost',
  title: 'the lexical leg of the hybrid search no longer matches a part of the documents',
  causes: ['ranking'],
  fits: ({ shape }) => shape.retriever === 'dense-rerank',
  begin({ size, random, material }) {
    const lost = new Set(
      some(material.rows, around(random, bySize(size, 0.12, 0.25, 0.45)), random).map(({ id }) => id),
    );
    return {
      search: (search) => (asked) => {
        const deep = { ...asked, k: CANDIDATES };
        const cosines = new Map(search({ ...deep, reranked: 0 }).map(({ id, score }) => [id, score]));
        return search(deep)
          .map((hit) => (lost.has(hit.id) ? { ...hit, score: VECTOR_WEIGHT * (cosines.get(hit.id) ?? 0) } : hit))
          .toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
          .slice(0, asked.k);
      },
    };
  },
};
