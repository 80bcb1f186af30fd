import { around, bySize, type FaultKind, someTexts } from '../fault.ts';
import { createSearch } from '../search.ts';
import { prefixOf } from '../texts.ts';

/** Number of candidates of the reranker. */
const CANDIDATES = 40;

export const kind: FaultKind = {
  name: 'reranker-reads-beginning',
  title: 'the reranker truncates its input and judges each chunk by its first words',
  causes: ['ranking'],
  fits: ({ shape }) => shape.retriever === 'dense-rerank',
  begin({ size, random, material }) {
    const isHurt = someTexts(random, Math.min(1, around(random, bySize(size, 0.3, 0.8, 1.3))));
    const share = bySize(size, 0.25, 0.25, 0.1);
    const beginnings = material.rows.map((row) => {
      const text = prefixOf(row.text, share);
      return { ...row, text, vector: material.embed(text) };
    });
    const rerank = createSearch(material.shape, beginnings, material.embed);
    return {
      search: (search) => (asked) => {
        if (!isHurt(asked.text) || asked.reranked === 0) return search(asked);
        const candidates = new Map(search({ ...asked, k: CANDIDATES, reranked: 0 }).map((hit) => [hit.id, hit]));
        return rerank({ ...asked, reranked: CANDIDATES, allows: ({ id }) => candidates.has(id) }).map((hit) => ({
          ...hit,
          text: candidates.get(hit.id)?.text ?? hit.text,
        }));
      },
    };
  },
};
