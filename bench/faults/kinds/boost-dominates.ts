import { around, bySize, type FaultKind, some } from '../fault.ts';

/** Number of hits that are re-sorted. */
const DEPTH = 40;

export const kind: FaultKind = {
  name: 'boost-dominates',
  title: 'the boost of popular documents outweighs the relevance to the query',
  causes: ['ranking', 'random_answers'],
  begin({ size, random, material }) {
    const strength = around(random, bySize(size, 0.6, 1, 2));
    const popular = some(material.rows, bySize(size, 0.15, 0.25, 0.4), random);
    const popularity = new Map(popular.map(({ id }, at) => [id, 1 - at / popular.length]));
    return {
      search: (search) => (asked) => {
        const hits = search({ ...asked, k: DEPTH });
        const most = Math.abs(hits[0]?.score ?? 0);
        return hits
          .map((hit) => ({ ...hit, score: hit.score + strength * most * (popularity.get(hit.id) ?? 0) }))
          .toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
          .slice(0, asked.k);
      },
    };
  },
};
