import { around, bySize, type FaultKind } from '../fault.ts';
import { createSearch } from '../search.ts';
import { prefixOf } from '../texts.ts';

/** The keyword search knows only the beginning of each chunk, which is this share of its words. */
const BEGINNING = 0.12;

export const kind: FaultKind = {
  name: 'keyword-fallback',
  title: 'the query embedder is overloaded, and a part of the calls falls back to a weak keyword search',
  causes: ['split_index'],
  // In LIMIT, the dense search may be no better than the keyword search.
  fits: ({ shape }) => shape.retriever !== 'lexical' && shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const share = Math.min(1, around(random, bySize(size, 0.18, 0.45, 0.85)));
    const beginnings = material.rows.map((row) => ({ ...row, text: prefixOf(row.text, BEGINNING) }));
    const searchBeginnings = createSearch({ ...material.shape, retriever: 'lexical' }, beginnings, material.embed);
    return {
      search: (search) => (asked) => {
        if (random.uniform() >= share) return search(asked);
        return searchBeginnings(asked).map((hit) => ({ ...hit, text: material.texts.get(hit.id) ?? hit.text }));
      },
    };
  },
};
